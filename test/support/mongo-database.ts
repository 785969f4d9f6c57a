import { type Db, MongoClient } from "mongodb";
import type { CollectionPlan } from "../../src/stores/mongodb/collection.js";
import { inTurns, updatesInTwoSteps } from "../../src/stores/mongodb/update-turns.js";
import { mongodbUrl, ownName } from "./servers.js";

/** A database of its own with these collections; it goes with `close`. */
export interface TestDatabase {
  readonly db: Db;
  readonly client: MongoClient;
  close(): Promise<void>;
}

/** Opens one on the server for tests, or on the one that `server` names: a proxy for it, say. */
export async function openTestDatabase(plans: readonly CollectionPlan[], server?: string): Promise<TestDatabase> {
  const name = ownName();
  const client = new MongoClient(mongodbUrl(name, server), { writeConcern: { w: "majority", journal: true } });
  await client.connect();
  // As the service does: some servers let two updates of a document overwrite each other, unless they come one by one.
  const db = (await updatesInTwoSteps(client)) ? inTurns(client.db(name)) : client.db(name);
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
