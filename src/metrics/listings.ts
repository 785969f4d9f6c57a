import { eachPage } from "../async/pages.js";
import { type Dimension, dimensions } from "./dimensions.js";
import type { ListedIds, SeriesStore } from "./ports.js";

/** An id in a dimension, with the stored types of which it has a point. */
export interface ListedSeries {
  readonly dimension: Dimension;
  readonly id: string;
  readonly types: readonly string[];
}

/** An id of a dimension that the context names. */
export type ListedId = Omit<ListedSeries, "dimension">;

export interface SeriesPage {
  /** All dimensions when it is absent. */
  readonly dimension?: Dimension | undefined;
  /** Prefix of the ids. */
  readonly prefix: string;
  /** Part of the ids, as a `searchText`. */
  readonly contains: string;
  /** The last id of the previous page. */
  readonly after?: Pick<ListedSeries, "dimension" | "id"> | undefined;
  readonly limit: number;
  readonly descending: boolean;
}

const inOrder = [...dimensions].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Series that have a point, by the name of the dimension, then by id, in either order. */
export async function listSeries(
  store: Pick<SeriesStore, "list">,
  { dimension, after, limit, descending, ...among }: SeriesPage,
): Promise<ListedSeries[]> {
  const listed: ListedSeries[] = [];
  const all = descending ? inOrder.toReversed() : inOrder;
  const last = after === undefined ? 0 : all.indexOf(after.dimension);
  for (const listedDimension of dimension === undefined ? all : [dimension]) {
    if (all.indexOf(listedDimension) < last) continue;
    const from = after?.dimension === listedDimension ? { after: after.id } : {};
    const found = await store.list(listedDimension, { ...among, ...from, limit: limit - listed.length, descending });
    listed.push(...found.map((series) => ({ dimension: listedDimension, ...series })));
    if (listed.length >= limit) break;
  }
  return listed;
}

/** Yields these ids of a dimension, with their stored types, in pages of `limit`. */
export function listedPages(
  store: Pick<SeriesStore, "list">,
  dimension: Dimension,
  { limit, ...among }: ListedIds & { readonly limit: number },
): AsyncGenerator<readonly ListedId[]> {
  return eachPage<ListedId>(
    (last, limit) => store.list(dimension, { ...among, limit, ...(last && { after: last.id }) }),
    limit,
  );
}

/** Number of these series. */
export async function countSeries(
  store: Pick<SeriesStore, "count">,
  { dimension, ...among }: Pick<SeriesPage, "dimension" | "prefix" | "contains">,
): Promise<number> {
  let count = 0;
  for (const counted of dimension === undefined ? inOrder : [dimension]) count += await store.count(counted, among);
  return count;
}
