import { MongoClient } from "mongodb";
import { systemClock } from "../../../src/clock.js";
import { openLog } from "../../../src/log.js";
import { openMongo } from "../../../src/stores/mongodb/index.js";
import type { EntityEngine } from "../../../src/stores/stores.js";
import { mongodbUrl, ownName } from "../../support/servers.js";
import { type Overrides, settingsFor } from "../../support/service.js";

/** The engine for profiles in two separate databases, which `close` drops. */
export interface TestEngine {
  readonly stores: EntityEngine;
  /** A client for both databases. */
  readonly client: MongoClient;
  readonly name: string;
  /** Opens the same databases again, like another process, which may have other settings. */
  another(overrides?: Overrides): Promise<EntityEngine>;
  /** Removes every document. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

/** Opens an engine on the server for tests, or on `server`, which may be a proxy for it. */
export async function openTestEngine(server?: string): Promise<TestEngine> {
  const name = ownName();
  const url = mongodbUrl(name, server);
  const own = { entities: { url }, pepper: "a-pepper-for-tests-only-0123456789abcdef" };
  const open = (overrides: Overrides = {}) => {
    const settings = settingsFor("unused", { ...own, ...overrides });
    return openMongo({ settings, log: openLog("silent"), clock: systemClock });
  };
  const client = new MongoClient(mongodbUrl(name), { writeConcern: { w: "majority", journal: true } });
  const engines = [await open()];
  const [stores] = engines as [EntityEngine];
  const databases = [client.db(name), client.db(`${name}_ledger`)];
  return {
    stores,
    client,
    name,
    async another(overrides) {
      const engine = await open(overrides);
      engines.push(engine);
      return engine;
    },
    async empty() {
      for (const db of databases) {
        for (const { name: collection } of await db.listCollections({}, { nameOnly: true }).toArray())
          if (collection !== "marks") await db.collection(collection).deleteMany({});
      }
    },
    async close() {
      for (const engine of engines) await engine.close();
      for (const db of databases) await db.dropDatabase();
      await client.close();
    },
  };
}
