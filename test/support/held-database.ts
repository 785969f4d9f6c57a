import type { Collection, Db, FindCursor } from "mongodb";

/** Is told of a call to a collection before it is made: it may hold the call, or make it fail. */
export type CallHook = (call: string) => Promise<void> | undefined;

/** The same database, as a process has it that can be held, or dies, before any call: `memberships.bulkWrite`, say. */
export function heldDatabase(db: Db, hook: CallHook): Db {
  const collection = (name: string) => held(db.collection(name), (method) => hook(`${name}.${method}`));
  return new Proxy(db, {
    get: (target, key) => (key === "collection" ? collection : Reflect.get(target, key, target)),
  });
}

/** Holds the first call of this name; `reached` resolves when it is there. */
export function holdFirst(call: string): {
  readonly hook: CallHook;
  readonly reached: Promise<void>;
  release(): void;
} {
  let arrive = () => {};
  let release = () => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  const hook: CallHook = (name) => {
    if (name !== call || isHeld) return undefined;
    isHeld = true;
    arrive();
    return open;
  };
  return { hook, reached, release };
}

const promised =
  /^(bulkWrite|insertMany|insertOne|deleteOne|deleteMany|updateOne|updateMany|replaceOne|findOneAnd\w+|findOne|countDocuments)$/;

function held(collection: Collection, hook: CallHook): Collection {
  return new Proxy(collection, {
    get(target, key) {
      const method: unknown = Reflect.get(target, key, target);
      if (typeof method !== "function" || typeof key !== "string") return method;
      if (key === "find")
        return (...args: unknown[]) => heldCursor(Reflect.apply(method, target, args), () => hook(key));
      if (!promised.test(key)) return method.bind(target) as unknown;
      return async (...args: unknown[]) => {
        await hook(key);
        return Reflect.apply(method, target, args) as unknown;
      };
    },
  });
}

/** A cursor asks the server when it is read to its end. */
function heldCursor(cursor: FindCursor, hook: () => Promise<void> | undefined): FindCursor {
  const toArray = async () => {
    await hook();
    return cursor.toArray();
  };
  return new Proxy(cursor, {
    get(target, key) {
      if (key === "toArray") return toArray;
      const method: unknown = Reflect.get(target, key, target);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(method, target, args);
        return result === cursor ? heldCursor(cursor, hook) : result;
      };
    },
  });
}
