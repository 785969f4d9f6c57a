import type { Db } from "mongodb";
import type { EntityId } from "../../src/entities/entity.js";
import type { EntityChange, EntityStore } from "../../src/entities/entity-store.js";
import type { IdentityHash } from "../../src/entities/identity.js";
import type { EntityWriters } from "./entity-writers.js";
import { fated, type Operation, watchedDb } from "./watched-db.js";

/** Two profiles, a and b, and what else a case needs of the place. */
export interface Place {
  readonly db: Db;
  readonly writers: EntityWriters;
  readonly store: EntityStore;
  readonly a: EntityId;
  readonly b: EntityId;
  readonly ofA: IdentityHash;
  readonly ofB: IdentityHash;
  readonly unknown: IdentityHash;
}

export interface Case {
  readonly title: string;
  /** What the first process saves, made before the second comes in between. */
  save(place: Place, fact?: string): Promise<EntityChange>;
  /** What the second process does meanwhile. */
  meanwhile(place: Place): Promise<unknown>;
  /** Whether the save must fail unless it was committed before. */
  readonly stops: boolean;
}

const say = (hashes: (place: Place) => IdentityHash[], fact: string) => (place: Place) =>
  place.writers.say(place.writers.store(), hashes(place), fact);
const prepared =
  (hashes: (place: Place) => IdentityHash[]) =>
  (place: Place, fact = "first") =>
    place.writers.prepare(place.store, hashes(place), fact);
const update = prepared(({ ofA }) => [ofA]);
const updateOfAbsorbed = prepared(({ ofB }) => [ofB]);
const extension = prepared(({ ofA, unknown }) => [ofA, unknown]);
const birth = prepared(({ unknown }) => [unknown]);
const join = prepared(({ ofA, ofB }) => [ofA, ofB]);
const wideJoin = prepared(({ ofA, ofB, unknown }) => [ofA, ofB, unknown]);
const fence = (ids: (place: Place) => EntityId[]) => (place: Place) => place.writers.store().fence(ids(place));
const erase = (hash: (place: Place) => IdentityHash) => (place: Place) =>
  place.writers.erase(place.writers.store(), hash(place));

/** Where a process dies: after the operation of a name with a number. */
type Death = readonly [Operation, number];

const RESERVED: Death = ["insertMany", 0];
const LOCKED: Death = ["bulkWrite", 0];
const COMMITTED: Death = ["bulkWrite", 1];

/** A process begins this save, and dies. */
const dies =
  (save: Case["save"], [operation, number]: Death) =>
  async (place: Place) => {
    const { around } = fated("dies after", number, operation);
    const dying = place.writers.store(watchedDb(place.db, around));
    await dying.save([await save(place, "of the dead")]).catch(() => {});
  };

/** A save long after another process died like that. */
const afterDead = (dead: Case["save"], death: Death, save: Case["save"]) => async (place: Place) => {
  await dies(dead, death)(place);
  for (let looks = 0; looks < 10; looks += 1) place.writers.clock();
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

/** What meets what. */
export const cases: readonly Case[] = [
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
    save: afterDead(extension, RESERVED, birth),
    meanwhile: say(({ ofA, unknown }) => [ofA, unknown], "second"),
    stops: false,
  },
  {
    title: "a birth that takes over from a dead birth meets a third one",
    save: afterDead(birth, RESERVED, birth),
    meanwhile: say(({ unknown }) => [unknown], "second"),
    stops: false,
  },
  {
    title: "a join after a dead one meets an update of the absorbed",
    save: afterDead(wideJoin, LOCKED, wideJoin),
    meanwhile: say(({ ofB }) => [ofB], "second"),
    stops: false,
  },
  {
    title: "an update after a join that died at its commit meets an erasure",
    save: afterDead(wideJoin, COMMITTED, update),
    meanwhile: erase(({ ofB }) => ofB),
    stops: true,
  },
  ...([RESERVED, LOCKED, COMMITTED, ["updateMany", 0], ["updateMany", 1]] as const).map((death) => ({
    title: `an update of the absorbed meets a join that dies after its ${death.join(" ")}`,
    save: updateOfAbsorbed,
    meanwhile: dies(wideJoin, death),
    stops: false,
  })),
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
