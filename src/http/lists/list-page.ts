import { Type } from "@sinclair/typebox";
import { everyItem } from "../../async/every-item.js";
import type { ListOrders } from "../../catalogue/list-orders.js";
import { invalid } from "../../errors.js";
import { compareBytes, searchText } from "../../text.js";
import { fetchPage, listQuery, oneOf, PageMeta } from "../core/responses.js";

const MAX_Q_LENGTH = 256;

const q = Type.Optional(
  Type.String({
    maxLength: MAX_Q_LENGTH,
    description: "Only entries whose id or name contains this text; case does not matter.",
    issue: { code: "invalid_q", message: `q must be a string of at most ${MAX_Q_LENGTH} characters` },
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

/** `meta` of a list with search. */
export const ListMeta = Type.Object(
  { ...PageMeta.properties, total: Type.Integer({ minimum: 0, description: "How many entries match." }) },
  { title: "ListMeta" },
);

/** Fields by which rows are sorted and searched. */
export interface Entry {
  readonly id: string;
  readonly name: string;
}

/** Source of a list. */
export interface ListSource<T extends Entry> {
  /** Returns entries in id order after an id. */
  page(after: string | undefined, limit: number): Promise<T[]>;
  count(): Promise<number>;
  /** Like `page`, but only the ids, if that is faster; then `keys` gets entries without other fields. */
  readonly ids?: ((after: string | undefined, limit: number) => Promise<string[]>) | undefined;
  /** Returns the entries with these ids that still exist. */
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
  readonly orders: ListOrders;
  /**
   * Returns the sort key of each entry; entries with undefined come last in either order. Absent: entries are sorted by
   * name.
   */
  readonly keys?: ((entries: readonly Keyed<T>[]) => Promise<SortKeys>) | undefined;
}

export type SortKeys = readonly (number | undefined)[];

/** An entry whose other fields may be missing. */
export type Keyed<T extends Entry> = Pick<T, "id"> & Partial<T>;

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
  if (request.sort !== "id" && text === "" && source.keys !== undefined && source.ids !== undefined) {
    const ids = await source.ids(undefined, MAX_SORTED + 1);
    return sortedPage(
      ids.map((id) => ({ id }) as Keyed<T>),
      request,
      source,
    );
  }
  const all = await everyItem(source.page, ({ id }) => id);
  const found = text === "" ? all : all.filter(({ id, name }) => contains(id, text) || contains(name, text));
  return request.sort === "id" ? idPage(found, request) : sortedPage(found, request, source);
}

/** Returns the first page of the entries, given in id order, in the order of their keys or names. */
async function sortedPage<T extends Entry>(
  entries: readonly Keyed<T>[],
  { order, limit }: ListRequest,
  source: ListSource<T>,
): Promise<ListedPage<T>> {
  if (entries.length > MAX_SORTED) {
    throw invalid(
      "too_many_entries",
      "sort",
      `More than ${MAX_SORTED} entries match: sort by id, or narrow the list with q`,
    );
  }
  const ids = await inOrder(entries, order, source.keys);
  const name = ids.length > limit ? await source.orders.keep(ids) : "";
  return pageFrom(ids, { name, at: 0 }, limit, source);
}

function contains(text: string, part: string): boolean {
  return searchText(text).includes(part);
}

/** Returns a page of the entries, given in id order, after the previous page's last one, in either order. */
export function idPage<T extends Pick<Entry, "id">>(
  found: readonly T[],
  { after, limit, order }: Pick<ListRequest, "after" | "limit" | "order">,
): ListedPage<T> {
  const sorted = order === "asc" ? found : found.toReversed();
  const isAfter = (id: string) =>
    after === undefined || (order === "asc" ? compareBytes(id, after) > 0 : compareBytes(id, after) < 0);
  const first = sorted.findIndex(({ id }) => isAfter(id));
  const items = first < 0 ? [] : sorted.slice(first, first + limit);
  const isLast = first < 0 || first + limit >= sorted.length;
  return { items, meta: { next: isLast ? null : (items.at(-1)?.id ?? null), total: sorted.length } };
}

/** Returns a later page of a stored order. */
async function orderedPage<T extends Entry>(
  after: string,
  limit: number,
  source: ListSource<T>,
): Promise<ListedPage<T>> {
  const place = readPlace(after);
  const ids = place && (await source.orders.find(place.name));
  if (place === undefined || ids === undefined) {
    const message =
      "after must be the meta.next of a page of the last 10 minutes, in the same order; start again without it";
    throw invalid("invalid_after", "after", message);
  }
  return pageFrom(ids, place, limit, source);
}

/** Position in a stored order. */
interface Place {
  readonly name: string;
  readonly at: number;
}

/** Returns a page of an order. Entries that no longer exist are skipped and the following ones move up. */
async function pageFrom<T extends Entry>(
  ids: readonly string[],
  { name, at: first }: Place,
  limit: number,
  { byIds }: Pick<ListSource<T>, "byIds">,
): Promise<ListedPage<T>> {
  const items: T[] = [];
  let at = first;
  while (items.length < limit && at < ids.length) {
    const some = ids.slice(at, at + limit - items.length);
    const found = await byIds(some);
    for (const id of some) items.push(...(found.has(id) ? [found.get(id) as T] : []));
    at += some.length;
  }
  return { items, meta: { next: at < ids.length ? placeText(name, at) : null, total: ids.length } };
}

const PLACE = /^([A-Za-z0-9_-]{22})\.([0-9]{1,5})$/;

function placeText(name: string, at: number): string {
  return `${name}.${at}`;
}

function readPlace(text: string): Place | undefined {
  const [, name, at] = PLACE.exec(text) ?? [];
  return name === undefined ? undefined : { name, at: Number(at) };
}

/** Returns the ids of the entries, given in id order, sorted by key or name; equal ones stay in id order. */
async function inOrder<T extends Entry>(
  entries: readonly Keyed<T>[],
  order: (typeof orders)[number],
  keysOf: ListSource<T>["keys"],
): Promise<readonly string[]> {
  const sign = order === "asc" ? 1 : -1;
  if (keysOf === undefined) {
    const named = entries.map(({ id, name = id }) => ({ id, name }));
    return named.sort((a, b) => sign * compareBytes(a.name, b.name)).map(({ id }) => id);
  }
  const keys = await keysOf(entries);
  const places = Array.from(entries.keys()).filter((i) => keys[i] !== undefined);
  places.sort((a, b) => sign * compareNumbers(keys[a] as number, keys[b] as number));
  const last = entries.filter((_, i) => keys[i] === undefined);
  return [...places.map((i) => (entries[i] as Keyed<T>).id), ...last.map(({ id }) => id)];
}

/** Compares numbers. Equal infinities compare as equal. */
function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
