import type { TokenCache, TokenValue } from "../cache/generations.js";

/**
 * Returns a value of each id with its token, in order. Computes missing values for at most `most` ids at once. `key` is
 * the part of the cache keys before the id.
 */
export async function cachedValues<T>(
  cache: TokenCache<T>,
  key: string,
  ids: readonly string[],
  most: number,
  compute: (ids: readonly string[]) => Promise<readonly TokenValue<T>[]>,
): Promise<TokenValue<T>[]> {
  const values = ids.map((id) => cache.get(key + id));
  const missing = [...values.keys()].filter((i) => values[i] === undefined);
  for (let at = 0; at < missing.length; at += most) {
    const some = missing.slice(at, at + most);
    const computed = await compute(some.map((i) => ids[i] as string));
    for (const [n, i] of some.entries()) {
      const one = computed[n] as TokenValue<T>;
      values[i] = one;
      cache.set(key + ids[i], one);
    }
  }
  return values as TokenValue<T>[];
}
