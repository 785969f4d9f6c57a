import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { entityRecords } from "../../src/stores/mongodb/entity-records.js";
import { entityCollections } from "../../src/stores/mongodb/entity-store.js";
import { EntityWriters } from "../support/entity-writers.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";
import { type Around, watchedDb } from "../support/watched-db.js";

const HASHES = 5;
const RUNS = 25;

/** One process: what it does, how long each of its operations is held up, and after how many of them it dies. */
const lane = fc.record({
  steps: fc.array(
    fc.record({
      erases: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
      hashes: fc.uniqueArray(fc.integer({ min: 0, max: HASHES - 1 }), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  delays: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 7 }),
  lives: fc.option(fc.integer({ min: 1, max: 60 }), { nil: Number.POSITIVE_INFINITY }),
});

onServers(["mongodb"], "mongodb: entity store under random histories", function () {
  this.timeout(90_000);
  let database: TestDatabase;

  before(async () => {
    database = await openTestDatabase(entityCollections);
  });
  after(() => database.close());

  it("keeps every promise while three processes write, join, erase and die at once", async () => {
    const histories = fc.asyncProperty(fc.tuple(lane, lane, lane), async (lanes) => {
      const { entities, identities } = entityRecords(database.db, Date.now);
      await Promise.all([entities.deleteMany({}), identities.deleteMany({})]);
      const writers = new EntityWriters(database.db);
      const hashes = Array.from({ length: HASHES }, () => writers.newHash());
      await Promise.all(
        lanes.map(async ({ steps, delays, lives }, number) => {
          const store = writers.store(watchedDb(database.db, slowUntilDead(delays, lives)));
          for (const [step, { erases, hashes: chosen }] of steps.entries()) {
            const named = chosen.map((index) => hashes[index] as string);
            const work = erases
              ? writers.erase(store, named[0] as string)
              : writers.say(store, named, `fact ${number}.${step}`);
            if (await work.then(() => false, rethrowUnlessDead)) return;
          }
        }),
      );
      await writers.store().erase([...writers.erased]);
      await writers.check();
      await writers.say(writers.store(), hashes, "last");
      await writers.check();
    });
    await fc.assert(histories, { numRuns: RUNS, endOnFailure: true });
  });
});

const DEAD = "The process is dead";

function rethrowUnlessDead(error: Error): true {
  if (error.message !== DEAD) throw error;
  return true;
}

function slowUntilDead(delays: readonly number[], lives: number): Around {
  let operations = 0;
  return async (operation) => {
    operations += 1;
    if (operations > lives) throw new Error(DEAD);
    const delay = delays[operations % delays.length] as number;
    if (delay > 6) await wait(delay);
    return operation();
  };
}
