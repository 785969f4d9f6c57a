import type { Collection, Db, Document, MongoClient } from "mongodb";

/** What changes a document that is there. */
const changes = [
  "bulkWrite",
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
export function inTurns(db: Db): Db {
  const last = new Map<string, Promise<unknown>>();

  function collection(name: string, ...rest: [never?]): Collection<Document> {
    const found = db.collection(name, ...rest);
    const take =
      (change: Change) =>
      (...args: readonly unknown[]) => {
        const turn = (last.get(name) ?? Promise.resolve()).then(() => change.apply(found, [...args]));
        last.set(
          name,
          turn.catch(() => {}),
        );
        return turn;
      };
    const own = Object.fromEntries(changes.map((change) => [change, take(found[change] as Change)]));
    return replacing(found, own);
  }

  return replacing(db, { collection });
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
