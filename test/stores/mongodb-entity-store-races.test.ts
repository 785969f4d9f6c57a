import { expect } from "chai";
import type { Db } from "mongodb";
import type { EntityId } from "../../src/entities/entity.js";
import type { EntityChange, EntityStore } from "../../src/entities/entity-store.js";
import type { IdentityHash } from "../../src/entities/identity.js";
import { entityRecords } from "../../src/stores/mongodb/entity-records.js";
import { entityCollections } from "../../src/stores/mongodb/entity-store.js";
import { EntityWriters } from "../support/entity-writers.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";
import { fated, watchedDb } from "../support/watched-db.js";

/** Two profiles, a and b, and what else a case needs of the place. */
interface Place {
  readonly db: Db;
  readonly writers: EntityWriters;
  readonly store: EntityStore;
  readonly a: EntityId;
  readonly b: EntityId;
  readonly ofA: IdentityHash;
  readonly ofB: IdentityHash;
  readonly unknown: IdentityHash;
}

interface Case {
  readonly title: string;
  /** What the first process saves, made before the second comes in between. */
  save(place: Place): Promise<EntityChange>;
  /** What the second process does meanwhile. */
  meanwhile(place: Place): Promise<unknown>;
  /** Whether the save must fail unless it was committed before. */
  readonly stops: boolean;
}

const say = (hashes: (place: Place) => IdentityHash[], fact: string) => (place: Place) =>
  place.writers.say(place.writers.store(), hashes(place), fact);
const prepared = (hashes: (place: Place) => IdentityHash[]) => (place: Place) =>
  place.writers.prepare(place.store, hashes(place), "first");
const update = prepared(({ ofA }) => [ofA]);
const extension = prepared(({ ofA, unknown }) => [ofA, unknown]);
const birth = prepared(({ unknown }) => [unknown]);
const join = prepared(({ ofA, ofB }) => [ofA, ofB]);
const wideJoin = prepared(({ ofA, ofB, unknown }) => [ofA, ofB, unknown]);
const fence = (ids: (place: Place) => EntityId[]) => (place: Place) => place.writers.store().fence(ids(place));
const erase = (hash: (place: Place) => IdentityHash) => (place: Place) =>
  place.writers.erase(place.writers.store(), hash(place));

/** A save after another process died at its operation number `at` of this one, long ago. */
const afterDead = (dead: Case["save"], at: number, save: Case["save"]) => async (place: Place) => {
  const { around } = fated("dies after", at);
  const { writers } = place;
  await writers
    .store(watchedDb(place.db, around))
    .save([await dead(place)])
    .catch(() => {});
  for (let looks = 0; looks < 10; looks += 1) writers.clock();
  return save(place);
};

/** Joins a into b, against the order of age. */
async function joinOtherWay({ writers, store, a, b }: Place): Promise<EntityChange> {
  const states = await store.load([a, b]);
  const [into, from] = [states.get(b), states.get(a)];
  if (into?.state !== "live" || from?.state !== "live") throw new Error("both must be live");
  const bindings = [...into.entity.bindings, ...from.entity.bindings];
  const joined = [...into.entity.joined, a, ...from.entity.joined];
  return {
    entity: { ...writers.fresh([], ["of a", "of b"]), id: b, revision: into.entity.revision, bindings, joined },
    absorbs: [{ id: a, revision: from.entity.revision }],
    releasedBy: [],
  };
}

const cases: readonly Case[] = [
  ...[birth, extension, wideJoin].flatMap((save, index) => {
    const what = ["a birth", "an extension", "a join"][index];
    return [
      {
        title: `${what} meets a birth on its new identity`,
        save,
        meanwhile: say(({ unknown }) => [unknown], "second"),
      },
      {
        title: `${what} meets an extension of another profile by its new identity`,
        save,
        meanwhile: say(({ ofB, unknown }) => [ofB, unknown], "second"),
      },
      {
        title: `${what} meets a join of everybody`,
        save,
        meanwhile: say(({ ofA, ofB, unknown }) => [ofA, ofB, unknown], "second"),
      },
    ].map((one) => ({ ...one, stops: false }));
  }),
  {
    title: "a birth that takes over from a dead extension meets that profile's next",
    save: afterDead(extension, 1, birth),
    meanwhile: say(({ ofA, unknown }) => [ofA, unknown], "second"),
    stops: false,
  },
  {
    title: "a birth that takes over from a dead birth meets a third one",
    save: afterDead(birth, 1, birth),
    meanwhile: say(({ unknown }) => [unknown], "second"),
    stops: false,
  },
  {
    title: "a join after a dead one meets an update of the absorbed",
    save: afterDead(wideJoin, 2, wideJoin),
    meanwhile: say(({ ofB }) => [ofB], "second"),
    stops: false,
  },
  {
    title: "an update after a join that died at its commit meets an erasure",
    save: afterDead(wideJoin, 4, update),
    meanwhile: erase(({ ofB }) => ofB),
    stops: true,
  },
  { title: "an update meets another", save: update, meanwhile: say(({ ofA }) => [ofA], "second"), stops: true },
  {
    title: "an update meets a join",
    save: update,
    meanwhile: say(({ ofA, ofB }) => [ofA, ofB], "second"),
    stops: true,
  },
  {
    title: "a join meets an update of the absorbed",
    save: join,
    meanwhile: say(({ ofB }) => [ofB], "second"),
    stops: true,
  },
  {
    title: "a join meets an update of the root",
    save: join,
    meanwhile: say(({ ofA }) => [ofA], "second"),
    stops: true,
  },
  {
    title: "a join meets the same join",
    save: join,
    meanwhile: say(({ ofA, ofB }) => [ofA, ofB], "second"),
    stops: true,
  },
  {
    title: "a join meets the opposite join",
    save: join,
    meanwhile: async (place) => {
      for (let tries = 0; tries < 40; tries += 1) {
        const states = await place.store.load([place.a, place.b]);
        if ([...states.values()].some(({ state }) => state !== "live")) return;
        if ((await place.store.save([await joinOtherWay(place)]))[0]) return;
      }
      throw new Error("neither join came to its end");
    },
    stops: false,
  },
  { title: "an update meets a fence", save: update, meanwhile: fence(({ a }) => [a]), stops: true },
  { title: "an extension meets a fence", save: extension, meanwhile: fence(({ a }) => [a]), stops: true },
  { title: "a join meets a fence of the absorbed", save: join, meanwhile: fence(({ b }) => [b]), stops: true },
  { title: "a join meets a fence of the root", save: wideJoin, meanwhile: fence(({ a }) => [a]), stops: true },
  { title: "an update meets an erasure", save: extension, meanwhile: erase(({ ofA }) => ofA), stops: true },
  { title: "a join meets an erasure of the absorbed", save: wideJoin, meanwhile: erase(({ ofB }) => ofB), stops: true },
  { title: "a join meets an erasure of the root", save: wideJoin, meanwhile: erase(({ ofA }) => ofA), stops: true },
  {
    title: "a join meets a bare erasure of the absorbed",
    save: wideJoin,
    meanwhile: async ({ writers, store, b }) => {
      writers.erased.add(b);
      await store.erase([b]);
    },
    stops: true,
  },
];

onServers(["mongodb"], "mongodb: entity store of several processes", () => {
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
    await writers.say(store, [ofA], "of a");
    await writers.say(store, [ofB], "of b");
    const owners = await store.owners([ofA, ofB]);
    return { db: database.db, writers, store, a: owners.get(ofA) ?? "", b: owners.get(ofB) ?? "", ofA, ofB, unknown };
  }

  /** Whether the save can be read already. */
  async function isCommitted({ store }: Place, { entity }: EntityChange): Promise<boolean> {
    const state = (await store.load([entity.id])).get(entity.id);
    return state?.state === "live" && state.entity.revision === entity.revision + 1;
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
        if (!here.writers.erased.size) await here.writers.say(here.store, [here.ofA, here.ofB, here.unknown], "last");
        await here.writers.check();
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
        await here.writers.check();
        const { entities } = entityRecords(database.db, Date.now);
        expect(await entities.countDocuments({ joining: { $exists: true } }), `after ${at}`).to.equal(0);
        if (committed) await expectKept(here, "first");
      }
    });
  }

  async function expectKept({ store, ofA, ofB, unknown }: Place, fact: string): Promise<void> {
    const owners = await store.owners([ofA, ofB, unknown]);
    const states = await store.load([...owners.values()]);
    const sealed = [...states.values()].flatMap((state) => (state.state === "live" ? [state.entity.sealed] : []));
    expect(sealed.map((bytes) => new TextDecoder().decode(bytes)).join()).to.contain(fact);
  }
});
