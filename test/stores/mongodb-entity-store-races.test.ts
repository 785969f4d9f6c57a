import { expect } from "chai";
import type { EntityChange } from "../../src/entities/entity-store.js";
import { entityRecords } from "../../src/stores/mongodb/entity-records.js";
import { entityCollections } from "../../src/stores/mongodb/entity-store.js";
import { cases, type Place } from "../support/entity-meetings.js";
import { EntityWriters, factsOf } from "../support/entity-writers.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";
import { type Around, fated, watchedDb } from "../support/watched-db.js";

onServers(["mongodb"], "mongodb: entity store of several processes", function () {
  this.timeout(120_000);
  let database: TestDatabase;

  before(async () => {
    database = await openTestDatabase(entityCollections);
  });
  after(() => database.close());

  async function place(): Promise<Place> {
    const { entities, identities } = entityRecords(database.db, Date.now);
    await Promise.all([entities.deleteMany({}), identities.deleteMany({})]);
    const writers = new EntityWriters(database.db);
    const store = writers.store();
    const [ofA, ofB, unknown] = [writers.newHash(), writers.newHash(), writers.newHash()];
    const [a, b] = [writers.fresh([ofA], ["of a"]), writers.fresh([ofB], ["of b"])];
    await store.save([a, b].map((entity) => ({ entity, absorbs: [], releasedBy: [] })));
    return { db: database.db, writers, store, a: a.id, b: b.id, ofA, ofB, unknown };
  }

  /** Whether the save can be read already. */
  async function isCommitted({ store }: Place, { entity }: EntityChange): Promise<boolean> {
    const state = (await store.load([entity.id])).get(entity.id);
    return state?.state === "live" && factsOf(state.entity).includes("first");
  }

  for (const { title, save, meanwhile, stops } of cases) {
    it(`${title}, wherever it is held`, async () => {
      for (let at = 0; ; at += 1) {
        const here = await place();
        const change = await save(here);
        const { around, reached, release } = fated("is held before", at);
        const saving = here.writers.store(watchedDb(database.db, around)).save([change]);
        const isOver = await Promise.race([reached.then(() => false), saving.then(() => true)]);
        if (isOver) {
          expect(at).to.be.greaterThan(1);
          break;
        }
        const before = await isCommitted(here, change);
        await meanwhile(here);
        release();
        const [saved] = await saving;
        if (before || stops) expect(saved, `held before operation ${at}`).to.equal(before);
        await here.writers.check();
        if (here.writers.erased.size > 0) continue;
        await here.writers.say(here.store, [here.ofA, here.ofB, here.unknown], "last");
        await expectTidy(here);
        if (saved) await expectKept(here, "first");
      }
    });
  }

  for (const { title, save, meanwhile } of cases) {
    it(`${title}, where the first dies after any of its operations`, async () => {
      for (let at = 0; ; at += 1) {
        const here = await place();
        const change = await save(here);
        const { around } = fated("dies after", at);
        const dying = here.writers.store(watchedDb(database.db, around));
        const end = await dying.save([change]).catch((error: Error) => error.message);
        if (typeof end !== "string") break;
        expect(end).to.equal("The process is dead");
        const committed = await isCommitted(here, change);
        await meanwhile(here);
        await here.writers.check();
        if (here.writers.erased.size > 0) continue;
        await here.writers.say(here.store, [here.ofA, here.ofB, here.unknown], "last");
        await expectTidy(here);
        if (committed) await expectKept(here, "first");
      }
    });
  }

  for (const [what, hashesOf] of [
    ["an extension", ({ ofA, unknown }: Place) => [ofA, unknown]],
    ["a join", ({ ofA, ofB, unknown }: Place) => [ofA, ofB, unknown]],
  ] as const) {
    it(`${what} that was kept stays so where its writer cannot tell any more`, async () => {
      for (let at = 0; ; at += 1) {
        const here = await place();
        const { writers, store } = here;
        const ofC = writers.newHash();
        await writers.say(store, [ofC], "of c");
        const changes = [
          await writers.prepare(store, hashesOf(here), "first"),
          await writers.prepare(store, [ofC], "c"),
        ];
        let operations = 0;
        const around: Around = async (operation) => {
          operations += 1;
          if (operations === at + 1) await writers.say(store, [ofC], "second");
          if (operations === at + 2) await writers.say(store, [here.ofA], "third");
          return operation();
        };
        await writers.store(watchedDb(database.db, around)).save(changes);
        await expectTidy(here);
        if (operations < at) break;
      }
    });
  }

  /** Nothing is left of what was begun. */
  async function expectTidy({ writers }: Place): Promise<void> {
    await writers.check();
    const { entities } = entityRecords(database.db, Date.now);
    expect(await entities.countDocuments({ joining: { $exists: true } })).to.equal(0);
  }

  async function expectKept({ store, ofA, ofB, unknown }: Place, fact: string): Promise<void> {
    const owners = await store.owners([ofA, ofB, unknown]);
    const states = await store.load([...owners.values()]);
    expect([...states.values()].flatMap((state) => (state.state === "live" ? factsOf(state.entity) : []))).to.include(
      fact,
    );
  }
});
