import { ApiError, type ListedSeries, type ListPage } from "../../client/client.js";
import type { Page } from "../view.js";

/**
 * Returns the first segments that only have points and are not in the catalogue, and their number; undefined where the
 * service does not count them, because it has too many series. Pass `q` to search their ids.
 */
export async function segmentsWithPoints(
  { client, signal }: Pick<Page, "client" | "signal">,
  limit: number,
  q?: string,
): Promise<ListPage<ListedSeries> | undefined> {
  const query = { dimension: "segment", catalogue: false, limit, q };
  try {
    return await client.page("series", query, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.issues.some(({ code }) => code === "too_many_entries")) return undefined;
    throw error;
  }
}
