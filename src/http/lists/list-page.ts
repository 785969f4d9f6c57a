import { Type } from "@sinclair/typebox";
import { eachPage } from "../../async/pages.js";
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
  /**
   * Returns the sort key of each entry; entries with undefined come last in either order. Absent: entries are sorted by
   * name.
   */
  readonly keys?: ((entries: readonly T[]) => Promise<SortKeys>) | undefined;
}

export type SortKeys = readonly (number | undefined)[];

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
 * Returns a page of the matching entries. By id or name, the next page starts after the last entry of this one. Other
 * keys may change between pages, so such a list has one page.
 */
export async function listPage<T extends Entry>(request: ListRequest, source: ListSource<T>): Promise<ListedPage<T>> {
  const { sort, order, limit, after = "" } = request;
  const text = searchText(request.q ?? "");
  if (sort === "id" && order === "asc" && text === "") {
    const { items, meta } = await fetchPage(request, source.page);
    const isWhole = after === "" && meta.next === null;
    return { items, meta: { ...meta, total: isWhole ? items.length : await source.count() } };
  }
  const matches = matchingPages(source, text);
  if (sort === "id") return idPage(matches, request);
  const found: T[] = [];
  for await (const page of matches) {
    found.push(...page);
    if (found.length > MAX_SORTED) throw tooMany();
  }
  if (source.keys === undefined) return namePage(found, request);
  if (after !== "") throw invalid("invalid_after", "after", `By ${sort} a list has one page: repeat it without after`);
  const sorted = inOrder(found, order, await source.keys(found));
  return { items: sorted.slice(0, limit), meta: { next: null, total: sorted.length } };
}

/** Yields the entries that match a `searchText`, in pages in id order, of which nothing is kept. */
async function* matchingPages<T extends Entry>({ page }: ListSource<T>, text: string): AsyncGenerator<readonly T[]> {
  const contains = (one: string) => searchText(one).includes(text);
  for await (const entries of eachPage<T>((last, limit) => page(last?.id, limit)))
    yield text === "" ? entries : entries.filter(({ id, name }) => contains(id) || contains(name));
}

function tooMany(): Error {
  const message = `More than ${MAX_SORTED} entries match: sort by id, or narrow the list with q`;
  return invalid("too_many_entries", "sort", message);
}

type PlaceInList = Pick<ListRequest, "after" | "limit" | "order">;

/**
 * Returns a page of the entries, which arrive in id order, after the previous page's last one, in either order. Keeps
 * only one entry more than the page has.
 */
export async function idPage<T extends Pick<Entry, "id">>(
  arriving: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  { after = "", limit, order }: PlaceInList,
): Promise<ListedPage<T>> {
  const sign = order === "asc" ? 1 : -1;
  let nearest: T[] = [];
  let total = 0;
  for await (const entries of arriving) {
    total += entries.length;
    nearest.push(...entries.filter(({ id }) => after === "" || sign * compareBytes(id, after) > 0));
    nearest = order === "asc" ? nearest.slice(0, limit + 1) : nearest.slice(-limit - 1);
  }
  if (order === "desc") nearest.reverse();
  const items = nearest.slice(0, limit);
  return { items, meta: { next: nearest.length > limit ? (items.at(-1)?.id ?? null) : null, total } };
}

/** Returns a page of the entries by name, then id, after the previous page's last one. */
function namePage<T extends Entry>(entries: readonly T[], { after = "", limit, order }: PlaceInList): ListedPage<T> {
  const sign = order === "asc" ? 1 : -1;
  const compare = (a: Entry, b: Entry) => sign * compareBytes(a.name, b.name) || compareBytes(a.id, b.id);
  const last = after === "" ? undefined : readPlace(after);
  const rest = entries.filter((entry) => last === undefined || compare(entry, last) > 0).sort(compare);
  const items = rest.slice(0, limit);
  const end = items.at(-1);
  const next = end === undefined || rest.length === items.length ? null : placeText(end);
  return { items, meta: { next, total: entries.length } };
}

/** Returns `meta.next` after an entry by name. Ids contain no line break. */
function placeText({ id, name }: Entry): string {
  return Buffer.from(`${id}\n${name}`).toString("base64url");
}

function readPlace(text: string): Entry {
  const [, id, name] = /^([^\n]+)\n(.*)$/s.exec(Buffer.from(text, "base64url").toString()) ?? [];
  if (id === undefined || name === undefined)
    throw invalid("invalid_after", "after", "after must be the meta.next of a page by name");
  return { id, name };
}

/** Returns the entries, given in id order, sorted by key; equal ones stay in id order. */
function inOrder<T>(entries: readonly T[], order: ListRequest["order"], keys: SortKeys): readonly T[] {
  const sign = order === "asc" ? 1 : -1;
  const places = Array.from(entries.keys()).filter((i) => keys[i] !== undefined);
  // Equal infinities differ by NaN, which counts as equal.
  places.sort((a, b) => sign * ((keys[a] as number) - (keys[b] as number)));
  return [...places.map((i) => entries[i] as T), ...entries.filter((_, i) => keys[i] === undefined)];
}
