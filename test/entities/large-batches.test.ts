import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import type { EntityId, StoredEntity } from "../../src/entities/profile/entity.js";
import type { IdentityHash } from "../../src/entities/profile/identity.js";
import { type EntityStage, entityStage, LONG_AGO } from "../support/entity-stage.js";

const MIB = 1_048_576;

/** Number of times that other work ran during this work. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await setImmediate();
      turns += 1;
    }
  })();
  await work.finally(() => {
    isOver = true;
  });
  await counting;
  return turns;
}

describe("a batch about large profiles", () => {
  let stage: EntityStage;
  /** Encrypted bytes that were returned, but not saved or released yet: of one call, and of concurrent calls. */
  let loaded: number[];
  /** Identities of each call that looked them up. */
  let lookedUp: number[];
  /** Changed updates of segments of each commit. */
  let changed: number[];

  beforeEach(async () => {
    loaded = [];
    lookedUp = [];
    changed = [];
    stage = await entityStage(({ entities }) => ({
      entities: {
        ...entities,
        async find(hashes: readonly IdentityHash[], maxBytes?: number) {
          const found = await entities.find(hashes, maxBytes);
          loaded.push(sizeOf(found.profiles));
          lookedUp.push(hashes.length);
          return found;
        },
        async commit(commit) {
          changed.push(commit.profiles.reduce((sum, { changedSegments }) => sum + changedSegments.size, 0));
          return entities.commit(commit);
        },
      },
    }));
  });

  function sizeOf(profiles: ReadonlyMap<EntityId, StoredEntity>): number {
    return [...profiles.values()].reduce((sum, { sealed }) => sum + sealed.length, 0);
  }

  const text = (bytes: number) => randomBytes(bytes / 2).toString("hex");

  async function fill(people: number, bytes: number): Promise<string[]> {
    const values = Array.from({ length: people }, (_, at) => `u${at}`);
    for (const _uid of values) await stage.collect([{ _uid, at: LONG_AGO, big: text(bytes) }]);
    loaded = [];
    return values;
  }

  it("decrypts a few of them at a time, and applies every message once, in order", async function () {
    this.timeout(60_000);
    const values = await fill(24, 900_000);
    const batch = values.flatMap((_uid) => [
      { _uid, at: LONG_AGO + 1, x: 1 },
      { _uid, at: LONG_AGO + 1, x: 2 },
    ]);
    expect(await stage.collect(batch)).to.deep.equal([]);
    expect(Math.max(...loaded)).to.be.at.most(4 * MIB);
    expect(await stage.counted()).to.equal(24 * 3);
    for (const value of values) expect(await stage.read("_uid", value)).to.include({ x: 2 });
  });

  it("rejects a message that merges more data than may be decrypted at once, and decrypts none of it", async function () {
    this.timeout(60_000);
    const values = await fill(10, 900_000);
    expect(
      await stage.collect([
        { _uid: values, at: LONG_AGO + 1 },
        { _uid: "u0", at: LONG_AGO + 1, y: 1 },
      ]),
    ).to.deep.equal(["merge_too_large"]);
    expect(Math.max(...loaded)).to.be.at.most(8 * MIB);
    expect(await stage.read("_uid", "u0")).to.include({ _uid: "u0", y: 1 });
  });

  it("lets other work run while merges are refused for size", async function () {
    this.timeout(60_000);
    const names = Array.from({ length: 12_000 }, (_, at) => at);
    for (const _uid of ["a", "b", "c"]) {
      const own = names.map((at) => [`${_uid} ${at} ${"x".repeat(20)}`, at] as const);
      await stage.collect([{ _uid, at: LONG_AGO, ...Object.fromEntries(own) }]);
    }
    const pairs = [
      ["a", "b"],
      ["b", "c"],
      ["c", "a"],
    ];
    const batch = Array.from({ length: 60 }, (_, at) => ({ _uid: pairs[at % 3], at: LONG_AGO + 1 }));
    let refused: string[] = [];
    const turns = await turnsDuring(
      stage.collect(batch).then((codes) => {
        refused = codes;
      }),
    );
    expect(refused).to.deep.equal(batch.map(() => "entity_too_large"));
    expect(turns).to.be.at.least(10);
  });

  it("lets other work run while thousands of updates of segments are applied", async function () {
    this.timeout(60_000);
    const segments = Array.from({ length: 1_000 }, (_, at) => `s${at}`);
    const batch = Array.from({ length: 100 }, (_, at) => ({ _uid: `u${at}`, at: LONG_AGO, segments }));
    expect(await turnsDuring(stage.request(batch))).to.be.at.least(10);
    expect(await stage.stores.memberships.sizes(["s0", "s999"])).to.deep.equal([100, 100]);
  });

  describe("with 1,000 segments each", () => {
    const segments = Array.from({ length: 1_000 }, (_, at) => `s${at}`);
    const values = Array.from({ length: 12 }, (_, at) => `u${at}`);

    beforeEach(async () => {
      await stage.collect(values.map((_uid) => ({ email: `${_uid}@example.org` })));
      for (const _uid of values) await stage.collect([{ _uid, at: LONG_AGO, segments }]);
      changed = [];
    });

    it("ends at most 5,000 memberships per commit by empty full lists", async () => {
      expect(await stage.collect(values.map((_uid) => ({ _uid, segments: [] })))).to.deep.equal([]);
      expect(Math.max(...changed)).to.be.at.most(5_000);
      expect(await stage.stores.memberships.sizes(["s0", "s999"])).to.deep.equal([0, 0]);
      expect(await stage.counted()).to.equal(36);
    });

    it("moves at most 5,000 memberships per commit to older profiles without segments", async () => {
      expect(await stage.collect(values.map((_uid) => ({ _uid, email: `${_uid}@example.org` })))).to.deep.equal([]);
      expect(Math.max(...changed)).to.be.at.most(5_000);
      expect(await stage.stores.memberships.sizes(["s0", "s999"])).to.deep.equal([12, 12]);
    });
  });

  /** A message that names 300 identities of its own. */
  const manyNamed = (own: string) => {
    const values = (field: string) => Array.from({ length: 100 }, (_, at) => `${own}-${field}-${at}@example.org`);
    return { _uid: values("_uid"), user_id: values("user_id"), email: values("email"), at: LONG_AGO };
  };

  it("looks up some of its identities at a time, however many it names, and lets other work run in between", async () => {
    const batch = Array.from({ length: 20 }, (_, at) => manyNamed(`u${at}`));
    // At least once after each part but the last.
    expect(await turnsDuring(stage.request(batch))).to.be.at.least(3);
    expect(Math.max(...lookedUp)).to.be.at.most(2_000);
    expect(await stage.counted()).to.equal(20);
    for (const at of [0, 6, 19])
      expect(await stage.read("email", `u${at}-email-99@example.org`)).to.have.property("_uid");
  });

  it("shares a commit with other requests only if they name few identities together", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, at) => stage.collect([manyNamed(`u${at}`)])));
    expect(Math.max(...lookedUp)).to.be.at.most(2_000);
    expect(await stage.counted()).to.equal(20);
  });
});
