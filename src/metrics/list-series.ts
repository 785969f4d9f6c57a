import type { Dimension } from "./dimensions/dimension.js";
import { dimensions } from "./dimensions/index.js";
import type { SeriesStore } from "./ports.js";

/** An id in a dimension, with the stored types of which it has a point. */
export interface ListedSeries {
  readonly dimension: Dimension;
  readonly id: string;
  readonly types: readonly string[];
}

export interface SeriesPage {
  /** All dimensions when it is absent. */
  readonly dimension?: Dimension | undefined;
  /** What ids begin with. */
  readonly prefix: string;
  /** The last one of the page before. */
  readonly after?: Pick<ListedSeries, "dimension" | "id"> | undefined;
  readonly limit: number;
}

const inOrder = [...dimensions].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Series that have a point, by the name of the dimension, then by id. */
export async function listSeries(
  store: Pick<SeriesStore, "list">,
  { dimension, prefix, after, limit }: SeriesPage,
): Promise<ListedSeries[]> {
  const listed: ListedSeries[] = [];
  for (const one of dimension === undefined ? inOrder : [dimension]) {
    if (after !== undefined && one.name < after.dimension.name) continue;
    const from = after?.dimension === one ? { after: after.id } : {};
    const found = await store.list(one, { prefix, ...from, limit: limit - listed.length });
    listed.push(...found.map((series) => ({ dimension: one, ...series })));
    if (listed.length >= limit) break;
  }
  return listed;
}
