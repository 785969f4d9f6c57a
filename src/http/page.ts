import { Type } from "@sinclair/typebox";
import type { SchemaIssue } from "./route.js";

/** How many items a page of a list has when no limit is given, and at most. */
export interface PageSizes {
  readonly usual: number;
  readonly most: number;
}

/** Query parameters of a list. */
export function pageQuery({ usual, most }: PageSizes) {
  const issue: SchemaIssue = { code: "bad_limit", message: `limit is a whole number from 1 to ${most}` };
  const description = "Most items of the page.";
  return {
    after: Type.Optional(Type.String({ description: "`meta.next` of the page before." })),
    limit: Type.Integer({ minimum: 1, maximum: most, default: usual, description, issue }),
  };
}

export const listQuery = pageQuery({ usual: 100, most: 1_000 });

/** `meta` of a list. */
export const PageMeta = Type.Object(
  {
    next: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "What to give as `after` for the next page; null on the last one.",
    }),
  },
  { title: "PageMeta" },
);

/** A page of a list: up to `limit` items after the one of id `after`. */
export interface Page {
  readonly after?: string;
  readonly limit: number;
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
