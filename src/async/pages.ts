import { yieldWhenDue } from "./yielding.js";

/**
 * Yields the pages of a list, which `read` returns in order: at most `limit` items after the last one of the page
 * before. A shorter page is the last one. Other requests run between two pages.
 */
export async function* eachPage<T>(
  read: (last: T | undefined, limit: number) => Promise<readonly T[]>,
  limit = 1_000,
): AsyncGenerator<readonly T[]> {
  for (let last: T | undefined; ; ) {
    const page = await read(last, limit);
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = page.at(-1);
    await yieldWhenDue();
  }
}

/** Returns every item of a list that a store returns in pages, in id order. */
export async function everyItem<T>(
  page: (after: string | undefined, limit: number) => Promise<readonly T[]>,
  idOf: (item: T) => string,
): Promise<T[]> {
  const items: T[] = [];
  const read = (last: T | undefined, limit: number) => page(last === undefined ? undefined : idOf(last), limit);
  for await (const page of eachPage(read)) items.push(...page);
  return items;
}
