import { type CacheMemory, SharedCache } from "../cache-memory.js";
import { type KeyStore, MAX_EVENT_NAMES } from "./api-key.js";

/** Resolves with the names of events that have streams of their own with this key: the first 500 that it has sent. */
export type EventNames = (keyId: string, sent: ReadonlySet<string>) => Promise<ReadonlySet<string>>;

/** Estimated memory of a name, bytes. */
const NAME_BYTES = 150;

/** Reads the store only for names that are not cached: the names of a key are never removed. */
export function eventNames(store: Pick<KeyStore, "addEventNames">, memory: CacheMemory): EventNames {
  const cache = new SharedCache<ReadonlySet<string>>(memory);
  return async (keyId, sent) => {
    const cached = cache.get(keyId) ?? new Set();
    const further = [...sent].filter((name) => !cached.has(name));
    if (further.length === 0 || cached.size === MAX_EVENT_NAMES) return cached;
    const names = new Set(await store.addEventNames(keyId, further));
    cache.set(keyId, names, NAME_BYTES * names.size);
    return names;
  };
}
