import type { Page } from "./view.js";

/**
 * Returns a function that reads a part of a view. A refresh by the timer returns the last result, so that it makes
 * fewer requests; any other call reads again, and a later refresh returns its result.
 */
export function kept<T>(read: (page: Page) => Promise<T>): (page: Page) => Promise<T> {
  let last: { readonly value: T } | undefined;
  return async (page) => {
    if (page.isRefresh && last !== undefined) return last.value;
    const value = await read(page);
    last = { value };
    return value;
  };
}
