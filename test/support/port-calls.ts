import type { Stores } from "../../src/stores/stores.js";

/** The ports through which profiles are written, with `before` in front of each call: it may wait, or throw. */
export function watchedPorts(stores: Stores, before: () => Promise<void>): Partial<Stores> {
  const { entities, memberships, history, entityKeys, suppression } = stores;
  return {
    entities: watched(entities, before),
    memberships: watched(memberships, before),
    history: watched(history, before),
    entityKeys: watched(entityKeys, before),
    suppression: watched(suppression, before),
  };
}

function watched<T extends object>(port: T, before: () => Promise<void>): T {
  return new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        await before();
        return method.apply(target, args) as unknown;
      };
    },
  });
}
