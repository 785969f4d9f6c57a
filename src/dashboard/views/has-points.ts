import type { Page } from "../view.js";

/** Returns whether a series with this id has points. The id sorts before all others that begin with it. */
export async function hasPoints({ client, signal }: Page, dimension: string, id: string): Promise<boolean> {
  const { data } = await client.page("series", { dimension, prefix: id, limit: 1 }, { signal });
  return data[0]?.dimension_id === id;
}
