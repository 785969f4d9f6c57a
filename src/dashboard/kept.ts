import { HOUR } from "./duration.js";
import type { Page } from "./view.js";

const KEPT_MS = 6 * HOUR;

/**
 * Returns a function that reads something that changes seldom. A refresh by the timer keeps the last result for hours,
 * so that it makes fewer requests; any other load reads again.
 */
export function kept<T>(read: (page: Page) => Promise<T>): (page: Page) => Promise<T> {
  let last: { readonly at: number; readonly value: T } | undefined;
  return async (page) => {
    if (page.isRefresh && last !== undefined && page.now - last.at < KEPT_MS) return last.value;
    const value = await read(page);
    last = { at: page.now, value };
    return value;
  };
}
