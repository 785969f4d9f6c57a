import { type Db, MongoClient } from "mongodb";
import type { CollectionPlan } from "../../../src/stores/mongodb/collection.js";
import { mongodbUrl, ownName } from "../../support/servers.js";

/** A separate database with these collections, dropped by `close`. */
export interface TestDatabase {
  readonly db: Db;
  readonly client: MongoClient;
  close(): Promise<void>;
}

/** Opens a database on the server for tests, or on `server`, which may be a proxy for it. */
export async function openTestDatabase(plans: readonly CollectionPlan[], server?: string): Promise<TestDatabase> {
  const name = ownName();
  const client = new MongoClient(mongodbUrl(name, server), { writeConcern: { w: "majority", journal: true } });
  await client.connect();
  const db = client.db(name);
  for (const plan of plans) {
    const collection = await db.createCollection(plan.name);
    if (plan.indexes.length > 0) await collection.createIndexes([...plan.indexes]);
  }
  return {
    db,
    client,
    async close() {
      await db.dropDatabase();
      await client.close();
    },
  };
}
