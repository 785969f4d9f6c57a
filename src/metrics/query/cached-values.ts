import type { Versioned, VersionedCache } from "../cache/versioned-cache.js";

/**
 * Returns a value of each id with its versions, in order. Computes missing values for at most `most` ids at once. `key`
 * is the part of the cache keys before the id.
 */
export async function cachedValues<T>(
  cache: VersionedCache<T>,
  key: string,
  ids: readonly string[],
  most: number,
  compute: (ids: readonly string[]) => Promise<readonly Versioned<T>[]>,
): Promise<Versioned<T>[]> {
  const values = ids.map((id) => cache.get(key + id));
  const missing = [...values.keys()].filter((i) => values[i] === undefined);
  for (let at = 0; at < missing.length; at += most) {
    const some = missing.slice(at, at + most);
    const computed = await compute(some.map((i) => ids[i] as string));
    for (const [n, i] of some.entries()) {
      const one = computed[n] as Versioned<T>;
      values[i] = one;
      cache.set(key + ids[i], one);
    }
  }
  return values as Versioned<T>[];
}
