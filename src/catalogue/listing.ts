import { setImmediate } from "node:timers/promises";

/** Items asked of the store at once. */
const PAGE = 1_000;

/** Every item of a list that is handed out in pages of id order. */
export async function everyItem<T extends { readonly id: string }>(
  page: (after: string | undefined, limit: number) => Promise<T[]>,
): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    if (items.length > 0) await setImmediate();
    const next = await page(items.at(-1)?.id, PAGE);
    items.push(...next);
    if (next.length < PAGE) return items;
  }
}
