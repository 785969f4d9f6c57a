/** How many items a page of a list has when no limit is given, and at most. */
export interface PageSizes {
  readonly usual: number;
  readonly most: number;
}

export const listPage: PageSizes = { usual: 100, most: 1_000 };
export const sizesPage: PageSizes = { usual: 10_000, most: 10_000 };

/** Query parameters of a list. */
export function pageQuery({ usual, most }: PageSizes) {
  return {
    after: { type: "string", description: "`meta.next` of the page before." },
    limit: { type: "integer", minimum: 1, maximum: most, default: usual, description: "Most items of the page." },
  } as const;
}

/** `meta` of a list. */
export const pageMetaSchema = {
  title: "PageMeta",
  type: "object",
  required: ["next"],
  properties: {
    next: { type: ["string", "null"], description: "What to give as `after` for the next page; null on the last one." },
  },
} as const;
