import { Type } from "@sinclair/typebox";
import { everyItem } from "../../async/every-item.js";
import type { ListOrders } from "../../catalogue/list-orders.js";
import { invalid } from "../../errors.js";
import { durationPattern, durationRule, parseDuration } from "../../formats/duration.js";
import type { Trend } from "../../metrics/query/newest-values.js";
import { compareBytes, searchText } from "../../text.js";
import { fetchPage, listQuery, oneOf, PageMeta } from "./responses.js";

const MOST_Q = 256;

const q = Type.Optional(
  Type.String({
    maxLength: MOST_Q,
    description: "Entries alone whose id or name contains this text, in any case.",
    issue: { code: "bad_q", message: `q is a text of at most ${MOST_Q} characters` },
  }),
);

/** `order` of a list. */
export const orders = ["asc", "desc"] as const;

const badOrder = { code: "unknown_order", message: `order is one of ${orders.join(", ")}` };

/** `order`, where nothing else is the default. */
export function orderQuery(usual: (typeof orders)[number]) {
  return oneOf(orders, { default: usual, description: "Ascending or descending.", issue: badOrder });
}

/** `sort`: `id`, `name`, or one of these. */
export function sortQuery<const S extends string>(others: readonly S[], description: string) {
  const sorts = ["id", "name", ...others] as const;
  return oneOf<(typeof sorts)[number]>(sorts, {
    default: "id",
    description,
    issue: { code: "unknown_sort", message: `sort is one of ${sorts.join(", ")}` },
  });
}

/** Query parameters of a list that is searched and sorted. */
export function searchQuery<const S extends string>(others: readonly S[], description: string) {
  return { ...listQuery, q, sort: sortQuery(others, description), order: orderQuery("asc") };
}

/** The length of time between `now` and `before` of a row. */
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

/** A value of a row with `range`; null where nothing is saved. */
export function rowValue(description: string) {
  return Type.Optional(Type.Unsafe<number | null>({ type: ["number", "null"], description }));
}

/** `meta` of a list that is searched. */
export const ListMeta = Type.Object(
  { ...PageMeta.properties, total: Type.Integer({ minimum: 0, description: "How many entries match." }) },
  { title: "ListMeta" },
);

/** What a row is sorted and searched by. */
interface Entry {
  readonly id: string;
  readonly name: string;
}

/** How a list is read. */
export interface ListSource<T extends Entry> {
  /** Entries in id order, after one of an id. */
  page(after: string | undefined, limit: number): Promise<T[]>;
  count(): Promise<number>;
  /** The entries of these ids that still exist. */
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
  readonly orders: ListOrders;
  /** A number for each entry, by which it is sorted; undefined: it comes last, in either order. Absent: entries are sorted by name. */
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

/** Entries that one request sorts by what can change. */
const MOST_SORTED = 10_000;

/**
 * A page of the entries that match. In id order the next page begins after the last id of this one. Every other order is determined with the first page,
 * as values can change until the last page is read: `next` names that order and a place in it.
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
  if (found.length > MOST_SORTED) {
    throw invalid(
      "too_many_entries",
      "sort",
      `More than ${MOST_SORTED} entries match: sort by id, or narrow the list with q`,
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

/** The entries, which are in id order, after the one of the page before, in either order. */
function idPage<T extends Entry>(found: readonly T[], { after, limit, order }: ListRequest): ListedPage<T> {
  const sorted = order === "asc" ? found : found.toReversed();
  const isAfter = (id: string) =>
    after === undefined || (order === "asc" ? compareBytes(id, after) > 0 : compareBytes(id, after) < 0);
  const first = sorted.findIndex(({ id }) => isAfter(id));
  const items = first < 0 ? [] : sorted.slice(first, first + limit);
  const isLast = first < 0 || first + limit >= sorted.length;
  return { items, meta: { next: isLast ? null : (items.at(-1)?.id ?? null), total: sorted.length } };
}

/** A later page of an order. Entries that no longer exist are left out, and later ones take their places. */
async function orderedPage<T extends Entry>(
  after: string,
  limit: number,
  { orders: kept, byIds }: ListSource<T>,
): Promise<ListedPage<T>> {
  const place = readPlace(after);
  const ids = place && (await kept.find(place.name));
  if (place === undefined || ids === undefined) {
    const message =
      "after is the meta.next of a page of the last 10 minutes, in the same order: begin again without it";
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

/** The entries, which are in id order, by key or by name; of equal ones the first id comes first. */
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

/** Infinite keys are equal to themselves. */
function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The length of time of `range`, ms; undefined without one. `sort=change` needs one. */
export function rangeMs(range: string | undefined, sort: string): number | undefined {
  if (range === undefined) {
    if (sort === "change") throw invalid("range_required", "range", "sort=change needs a range");
    return undefined;
  }
  const duration = parseDuration(range);
  if (duration === undefined) throw invalid("bad_range", "range", `${durationRule}, is expected`);
  return duration.ms;
}

/** What rows are sorted by: the relative change from `before` to `now` with `sort=change`, otherwise `now`. */
export function sortKeys(sort: string, trends: readonly Trend[]): readonly (number | undefined)[] {
  return trends.map(({ now, before }) => {
    if (sort !== "change") return now;
    if (now === undefined || before === undefined) return undefined;
    // From 0 to another value the change is infinite.
    return now === before ? 0 : (now - before) / Math.abs(before);
  });
}

/** `now` and `before` of a row. */
export function rowValues(trend: Trend | undefined): { now: number | null; before: number | null } {
  return { now: trend?.now ?? null, before: trend?.before ?? null };
}
