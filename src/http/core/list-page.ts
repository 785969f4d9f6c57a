import { Type } from "@sinclair/typebox";
import { everyItem } from "../../async/every-item.js";
import type { ListOrders } from "../../catalogue/list-orders.js";
import { invalid } from "../../errors.js";
import { durationPattern, durationRule, parseDuration } from "../../formats/duration.js";
import type { Trend } from "../../metrics/query/newest-values.js";
import { compareBytes, searchText } from "../../text.js";
import { fetchPage, listQuery, oneOf, PageMeta } from "./responses.js";

const MAX_Q_LENGTH = 256;

const q = Type.Optional(
  Type.String({
    maxLength: MAX_Q_LENGTH,
    description: "Only entries whose id or name contains this text; case does not matter.",
    issue: { code: "bad_q", message: `q must be a string of at most ${MAX_Q_LENGTH} characters` },
  }),
);

/** `order` of a list. */
export const orders = ["asc", "desc"] as const;

const badOrder = { code: "unknown_order", message: `order must be one of ${orders.join(", ")}` };

/** `order` with this default. */
export function orderQuery(usual: (typeof orders)[number]) {
  return oneOf(orders, { default: usual, description: "Ascending or descending.", issue: badOrder });
}

/** `sort`: `id`, `name` or one of these. */
export function sortQuery<const S extends string>(others: readonly S[], description: string) {
  const sorts = ["id", "name", ...others] as const;
  return oneOf<(typeof sorts)[number]>(sorts, {
    default: "id",
    description,
    issue: { code: "unknown_sort", message: `sort must be one of ${sorts.join(", ")}` },
  });
}

/** Query parameters of a list with search and sorting. */
export function searchQuery<const S extends string>(others: readonly S[], description: string) {
  return { ...listQuery, q, sort: sortQuery(others, description), order: orderQuery("asc") };
}

/** Query parameter for the time between `now` and `before` of a row. */
export const rangeQuery = {
  range: Type.Optional(
    Type.String({
      pattern: `^${durationPattern}$`,
      description:
        "Each row also has `now` and `before`, the value one range earlier: `<n><unit>`, a unit of m, h, d or w.",
      issue: { code: "bad_range", message: `${durationRule}, is expected` },
    }),
  ),
};

/** A value of a row with `range`; null when none is saved. */
export function rowValue(description: string) {
  return Type.Optional(Type.Unsafe<number | null>({ type: ["number", "null"], description }));
}

/** `meta` of a list with search. */
export const ListMeta = Type.Object(
  { ...PageMeta.properties, total: Type.Integer({ minimum: 0, description: "How many entries match." }) },
  { title: "ListMeta" },
);

/** Fields by which rows are sorted and searched. */
interface Entry {
  readonly id: string;
  readonly name: string;
}

/** Source of a list. */
interface ListSource<T extends Entry> {
  /** Returns entries in id order after an id. */
  page(after: string | undefined, limit: number): Promise<T[]>;
  count(): Promise<number>;
  /** Returns the entries with these ids that still exist. */
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
  readonly orders: ListOrders;
  /**
   * Returns the sort key of each entry; entries with undefined come last in either order. Absent: entries are sorted by
   * name.
   */
  readonly keys?: ((entries: readonly T[]) => Promise<readonly (number | undefined)[]>) | undefined;
}

/** The query of a list. */
export interface ListRequest {
  readonly after?: string;
  readonly limit: number;
  readonly q?: string;
  readonly sort: string;
  readonly order: (typeof orders)[number];
}

interface ListedPage<T> {
  readonly items: T[];
  readonly meta: { readonly next: string | null; readonly total: number };
}

/** Maximum entries that one request sorts by changing values. */
const MAX_SORTED = 10_000;

/**
 * Returns a page of the matching entries. In id order the next page starts after the last id. Any other order is fixed
 * by the first page, because values may change between pages: `next` contains the name of that order and a position.
 */
export async function listPage<T extends Entry>(request: ListRequest, source: ListSource<T>): Promise<ListedPage<T>> {
  const { after, limit, order } = request;
  if (request.sort !== "id" && after !== undefined && after !== "") return orderedPage(after, limit, source);
  const text = searchText(request.q ?? "");
  if (request.sort === "id" && order === "asc" && text === "") {
    const { items, meta } = await fetchPage(request, source.page);
    return { items, meta: { ...meta, total: await source.count() } };
  }
  const all = await everyItem(source.page, ({ id }) => id);
  const found = text === "" ? all : all.filter(({ id, name }) => contains(id, text) || contains(name, text));
  if (request.sort === "id") return idPage(found, request);
  if (found.length > MAX_SORTED) {
    throw invalid(
      "too_many_entries",
      "sort",
      `More than ${MAX_SORTED} entries match: sort by id, or narrow the list with q`,
    );
  }
  const sorted = await inOrder(found, order, source.keys);
  const items = sorted.slice(0, limit);
  const isLast = sorted.length <= limit;
  const next = isLast ? null : placeText(await source.orders.keep(sorted.map(({ id }) => id)), limit);
  return { items, meta: { next, total: sorted.length } };
}

function contains(text: string, part: string): boolean {
  return searchText(text).includes(part);
}

/** Returns a page of the entries, given in id order, after the previous page's last one, in either order. */
function idPage<T extends Entry>(found: readonly T[], { after, limit, order }: ListRequest): ListedPage<T> {
  const sorted = order === "asc" ? found : found.toReversed();
  const isAfter = (id: string) =>
    after === undefined || (order === "asc" ? compareBytes(id, after) > 0 : compareBytes(id, after) < 0);
  const first = sorted.findIndex(({ id }) => isAfter(id));
  const items = first < 0 ? [] : sorted.slice(first, first + limit);
  const isLast = first < 0 || first + limit >= sorted.length;
  return { items, meta: { next: isLast ? null : (items.at(-1)?.id ?? null), total: sorted.length } };
}

/** Returns a later page of a stored order. Entries that no longer exist are skipped and the following ones move up. */
async function orderedPage<T extends Entry>(
  after: string,
  limit: number,
  { orders: kept, byIds }: ListSource<T>,
): Promise<ListedPage<T>> {
  const place = readPlace(after);
  const ids = place && (await kept.find(place.name));
  if (place === undefined || ids === undefined) {
    const message =
      "after must be the meta.next of a page of the last 10 minutes, in the same order; start again without it";
    throw invalid("bad_after", "after", message);
  }
  const items: T[] = [];
  let at = place.at;
  while (items.length < limit && at < ids.length) {
    const some = ids.slice(at, at + limit - items.length);
    const found = await byIds(some);
    for (const id of some) items.push(...(found.has(id) ? [found.get(id) as T] : []));
    at += some.length;
  }
  return { items, meta: { next: at < ids.length ? placeText(place.name, at) : null, total: ids.length } };
}

const PLACE = /^([A-Za-z0-9_-]{22})\.([0-9]{1,5})$/;

function placeText(name: string, at: number): string {
  return `${name}.${at}`;
}

function readPlace(text: string): { readonly name: string; readonly at: number } | undefined {
  const [, name, at] = PLACE.exec(text) ?? [];
  return name === undefined ? undefined : { name, at: Number(at) };
}

/** Sorts the entries, given in id order, by key or name; equal ones stay in id order. */
async function inOrder<T extends Entry>(
  entries: readonly T[],
  order: (typeof orders)[number],
  keysOf: ListSource<T>["keys"],
): Promise<T[]> {
  const sign = order === "asc" ? 1 : -1;
  if (keysOf === undefined) return entries.toSorted((a, b) => sign * compareBytes(a.name, b.name));
  const keys = await keysOf(entries);
  const places = Array.from(entries.keys()).filter((i) => keys[i] !== undefined);
  places.sort((a, b) => sign * compareNumbers(keys[a] as number, keys[b] as number));
  const last = entries.filter((_, i) => keys[i] === undefined);
  return [...places.map((i) => entries[i] as T), ...last];
}

/** Compares numbers. Equal infinities compare as equal. */
function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Source of a list whose rows also have values that change. */
interface TrendSource<T extends Entry, R extends object> extends ListSource<T> {
  /** Sort keys; by the trends when absent. */
  readonly keys?: ListSource<T>["keys"];
  /** Returns the values of each entry, with `ms` also those of one range earlier. */
  trends(entries: readonly T[], ms: number | undefined): Promise<readonly Trend[]>;
  rows(entries: readonly T[]): Promise<readonly R[]>;
}

/** Returns a page of rows as `listPage` does, with `range` each with its `now` and `before`. */
export async function trendPage<T extends Entry, R extends object>(
  { range, ...request }: ListRequest & { readonly range?: string },
  { trends, rows, ...source }: TrendSource<T, R>,
) {
  const { sort } = request;
  const ms = rangeMs(range, sort);
  const keys = source.keys ?? (async (entries: readonly T[]) => sortKeys(sort, await trends(entries, ms)));
  const { items, meta } = await listPage(request, { ...source, keys: sort === "name" ? undefined : keys });
  const data: readonly (R & { now?: number | null; before?: number | null })[] = await rows(items);
  if (ms === undefined) return { data: [...data], meta };
  const values = await trends(items, ms);
  return { data: data.map((row, i) => ({ ...row, ...rowValues(values[i]) })), meta };
}

/** Parses `range` to ms; undefined without one. Throws when `sort=change` has no range. */
function rangeMs(range: string | undefined, sort: string): number | undefined {
  if (range === undefined) {
    if (sort === "change") throw invalid("range_required", "range", "sort=change needs a range");
    return undefined;
  }
  const duration = parseDuration(range);
  if (duration === undefined) throw invalid("bad_range", "range", `${durationRule}, is expected`);
  return duration.ms;
}

/** Returns the sort keys of rows: the relative change from `before` to `now` with `sort=change`, otherwise `now`. */
function sortKeys(sort: string, trends: readonly Trend[]): readonly (number | undefined)[] {
  return trends.map(({ now, before }) => {
    if (sort !== "change") return now;
    if (now === undefined || before === undefined) return undefined;
    // From 0 to another value the change is infinite.
    return now === before ? 0 : (now - before) / Math.abs(before);
  });
}

/** Returns the `now` and `before` of a row. */
function rowValues(trend: Trend | undefined): { now: number | null; before: number | null } {
  return { now: trend?.now ?? null, before: trend?.before ?? null };
}
