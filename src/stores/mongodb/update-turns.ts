import { setTimeout as sleep } from "node:timers/promises";
import type { Collection, Db, Document, MongoClient } from "mongodb";
import { ServiceError } from "../../errors.js";
import { bulkWriteInParts } from "./bulk-parts.js";

/** What changes a document that is there, besides `bulkWrite`. */
const changes = [
  "deleteMany",
  "deleteOne",
  "findOneAndDelete",
  "findOneAndReplace",
  "findOneAndUpdate",
  "replaceOne",
  "updateMany",
  "updateOne",
] as const;

/** Whether the server looks for a document and changes it in two steps, as FerretDB does before its version 2. */
export async function updatesInTwoSteps(client: MongoClient): Promise<boolean> {
  return (await client.db("admin").command({ buildInfo: 1 })).ferretdbVersion !== undefined;
}

/**
 * The same database, where this process makes one change at a time in each collection. For servers that
 * update in two steps: of two updates that expect the same revision, both would find it.
 */
export function inTurns(db: Db, waitMs = WAIT_MS): Db {
  const last = new Map<string, Promise<void>>();

  async function take<T>(name: string, change: () => Promise<T>): Promise<T> {
    const before = last.get(name) ?? Promise.resolve();
    let end = () => {};
    const turn = new Promise<void>((resolve) => {
      end = resolve;
    });
    last.set(
      name,
      before.then(() => turn),
    );
    try {
      await within(waitMs, before);
      return await change();
    } finally {
      end();
    }
  }

  function collection(name: string, ...rest: [never?]): Collection<Document> {
    const found = db.collection(name, ...rest);
    const own = changes.map((change) => {
      const made = found[change] as Change;
      return [change, (...args: readonly unknown[]) => take(name, () => made.apply(found, [...args]))] as const;
    });
    const bulkWrite = bulkWriteInParts(found, (part) => take(name, part));
    return replacing(found, { ...Object.fromEntries(own), bulkWrite });
  }

  return replacing(db, { collection });
}

/** How long a change waits for its turn, ms. */
const WAIT_MS = 4500;

async function within(ms: number, turn: Promise<void>): Promise<void> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal }).then(() => {
    throw new ServiceError("unavailable", "The store is busy", { retryAfter: 1 });
  });
  try {
    await Promise.race([turn, late]);
  } finally {
    done.abort();
    late.catch(() => {});
  }
}

type Change = (this: unknown, ...args: unknown[]) => Promise<unknown>;

/** `target` with some of its functions replaced. */
function replacing<T extends object>(target: T, own: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(_, name) {
      if (typeof name === "string" && Object.hasOwn(own, name)) return own[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
