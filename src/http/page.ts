import { invalid } from "../errors.js";
import type { ApiContext } from "./api-router.js";
import { readQuery } from "./query.js";
import type { PageSizes } from "./schemas/page.js";

/** A page of a list: up to `limit` items after the one of id `after`. */
export interface Page {
  readonly after: string | undefined;
  readonly limit: number;
}

/** The query parameters of a list. */
export const PAGE_QUERY = ["after", "limit"] as const;

/** The page that the query parameters `after` and `limit` ask for. */
export function readPage(ctx: ApiContext, { usual, most }: PageSizes): Page {
  const { after, limit } = readQuery(ctx, PAGE_QUERY);
  const count = limit === undefined ? usual : /^[0-9]{1,6}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > most) throw invalid("bad_limit", "limit", `limit is a whole number from 1 to ${most}`);
  return { after, limit: count };
}

/** The items of a page and, when more follow, what to give as `after` for the next one. */
export async function fetchPage<T extends { readonly id: string }>(
  { after, limit }: Page,
  fetch: (after: string | undefined, limit: number) => Promise<T[]>,
): Promise<{ items: T[]; meta: { next: string | null } }> {
  const found = await fetch(after, limit + 1);
  const items = found.slice(0, limit);
  return { items, meta: { next: found.length > limit ? (items.at(-1)?.id ?? null) : null } };
}
