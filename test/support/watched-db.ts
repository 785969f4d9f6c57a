import type { Collection, Db, Document } from "mongodb";

/** Goes around one operation of a database: may wait, may leave it undone, may lose its answer. */
export type Around = (operation: () => Promise<unknown>, name: Operation) => Promise<unknown>;

const operations = [
  "findOne",
  "insertOne",
  "insertMany",
  "updateOne",
  "updateMany",
  "deleteOne",
  "deleteMany",
  "bulkWrite",
] as const;

export type Operation = (typeof operations)[number] | "find";

/** The same database, each operation of it through `around`; a `find` is one when its documents are read. */
export function watchedDb(db: Db, around: Around): Db {
  const collection = (name: string) => watched(db.collection(name), around);
  return replacing(db, { collection });
}

function watched(collection: Collection<Document>, around: Around): Collection<Document> {
  const own: Record<string, unknown> = {
    find(...args: Parameters<typeof collection.find>) {
      const cursor = collection.find(...args);
      return replacing(cursor, { toArray: () => around(() => cursor.toArray(), "find") });
    },
  };
  for (const name of operations) {
    const operation = collection[name] as (...args: unknown[]) => Promise<unknown>;
    own[name] = (...args: unknown[]) => around(() => operation.apply(collection, args), name);
  }
  return replacing(collection, own);
}

function replacing<T extends object>(target: T, own: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(_, name) {
      if (typeof name === "string" && Object.hasOwn(own, name)) return own[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** What happens to a process at one of its operations. */
export type Fate = "is held before" | "dies after";

/** A process that meets its fate at its operation number `at` (from 0), of all or of those named so. */
export function fated(fate: Fate, at: number, only?: Operation) {
  let operations = 0;
  let dead = false;
  let reach = () => {};
  let release = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  const around: Around = async (operation, name) => {
    if (dead) throw new Error("The process is dead");
    if ((only ?? name) !== name || operations++ !== at) return operation();
    if (fate === "is held before") {
      reach();
      await open;
      return operation();
    }
    dead = true;
    await operation();
    throw new Error("The process is dead");
  };
  return { around, reached, release };
}
