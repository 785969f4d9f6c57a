import { yieldWhenDue } from "./yielding.js";

/** Items requested from the store at once. */
const PAGE = 1_000;

/** Yields every item of a list that a store returns in pages, in id order. Other requests run between two pages. */
export async function everyItem<T>(
  page: (after: string | undefined, limit: number) => Promise<T[]>,
  idOf: (item: T) => string,
): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const last = items.at(-1);
    if (last !== undefined) await yieldWhenDue();
    const next = await page(last === undefined ? undefined : idOf(last), PAGE);
    for (const item of next) items.push(item);
    if (next.length < PAGE) return items;
  }
}
