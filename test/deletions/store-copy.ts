import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Document } from "mongodb";
import { withMongo } from "../support/mongo-client.js";
import { nameOf, storesOnServers } from "../support/servers.js";

/** A store as it was at one instant. */
interface StoreCopy {
  /** Replaces the store by the copy. No service may have it open. */
  restore(): Promise<void>;
}

type CopiedStore = "entities" | "ledger";

/** Copies one store of a service that is stopped: a file of its folder, or a database on the server. */
export async function copyStore(dir: string, store: CopiedStore): Promise<StoreCopy> {
  return storesOnServers ? copyOnServer(databaseOf(dir, store)) : copyFile(dir, `${store}.db`);
}

/** Removes one store of a service that is stopped. */
export async function removeStore(dir: string, store: CopiedStore): Promise<void> {
  if (storesOnServers) await withMongo((client) => client.db(databaseOf(dir, store)).dropDatabase());
  else removeFile(dir, `${store}.db`);
}

function databaseOf(dir: string, store: CopiedStore): string {
  return store === "ledger" ? `${nameOf(dir)}_ledger` : nameOf(dir);
}

let copies = 0;

function copyFile(dir: string, name: string): StoreCopy {
  const kept = `${copies++}-${name}`;
  for (const end of ["", "-wal"]) {
    if (existsSync(join(dir, name + end))) copyFileSync(join(dir, name + end), join(dir, kept + end));
  }
  return {
    async restore() {
      removeFile(dir, name);
      for (const end of ["", "-wal"]) {
        if (existsSync(join(dir, kept + end))) copyFileSync(join(dir, kept + end), join(dir, name + end));
      }
    },
  };
}

function removeFile(dir: string, name: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, name + end), { force: true });
}

async function copyOnServer(name: string): Promise<StoreCopy> {
  const kept = await withMongo(async (client) => {
    const collections = await client.db(name).collections();
    return Promise.all(
      collections.map(async (one) => [one.collectionName, await one.find().toArray()] as [string, Document[]]),
    );
  });
  return {
    restore: () =>
      withMongo(async (client) => {
        for (const collection of await client.db(name).collections()) await collection.deleteMany({});
        for (const [collection, documents] of kept) {
          if (documents.length > 0) await client.db(name).collection(collection).insertMany(documents);
        }
      }),
  };
}
