import { expect } from "chai";
import type { SegmentRule } from "../../src/catalogue/ports.js";
import { decideProfiles } from "../../src/entities/decide/decide-profiles.js";
import { ruleWalker } from "../../src/entities/decide/rule-walker.js";
import { segmentsIn } from "../../src/entities/profile/entity.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { currentRules } from "../../src/segments/current-rules.js";
import type { Rule } from "../../src/segments/rule.js";
import { changeOf, commitOf, withoutFacts } from "../support/commits.js";
import { type EntityStage, entityStage } from "../support/entity-stage.js";
import { HeldCalls, portsThrough } from "../support/held-calls.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("the walk that decides rules about stored profiles", () => {
  let stage: EntityStage;
  let now: number;
  let reported: string[];

  beforeEach(async () => {
    stage = await entityStage();
    now = Date.now();
    reported = [];
  });

  const dependencies = () => ({
    ...stage.stores,
    rules: currentRules(stage.stores.catalogue),
    clock: () => now,
    memory: new MemoryBudget(1e9),
    countDecisions() {},
    damaged: (id: string) => void reported.push(id),
    lease: async () => "renewed" as const,
    commitMs: 0,
  });
  const walkerOf = (more: Partial<Parameters<typeof ruleWalker>[0]> = {}) => ruleWalker({ ...dependencies(), ...more });
  const finish = async (walker = walkerOf()) => {
    while (await walker.tick());
  };

  async function put(
    id: string,
    rule: Rule,
    { names = [], table = "user" }: { names?: string[]; table?: string } = {},
  ) {
    const { catalogue } = stage.stores;
    const { generation } = await catalogue.rules();
    expect(await catalogue.putRule({ id, name: id, table, rule, names }, generation, now)).to.equal("stored");
  }

  const computing = async (id: string) => (await stage.stores.catalogue.segmentsById([id])).get(id)?.byRule?.computing;
  const membersOf = async (segment: string) => (await stage.stores.memberships.sizes([segment]))[0];

  it("decides every profile by a changed rule, in both directions, and then the segment is not computing", async () => {
    const people = Array.from({ length: 1_203 }, (_, n) => ({ _uid: `u${n}`, plan: n % 3 === 0 ? "pro" : "free" }));
    await stage.collect(people);
    await put("plan", { attribute: "plan", is: "pro" });
    expect(await computing("plan")).to.deep.equal({ since: now });
    await finish();
    expect([await membersOf("plan"), await computing("plan")]).to.deep.equal([401, undefined]);
    await put("plan", { attribute: "plan", is: "free" });
    await finish();
    expect([await membersOf("plan"), await computing("plan")]).to.deep.equal([802, undefined]);
    const counts = await stage.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 99);
    const moves = counts.filter(({ stream }) => stream.startsWith("/")).map(({ stream, count }) => [stream, count]);
    expect(Object.fromEntries(moves)).to.deep.equal({ "/joined/plan": 401 + 802, "/left/plan": 401 });
  });

  it("begins a later change at its place, and passes it again for that one alone", async () => {
    await stage.collect(Array.from({ length: 1_203 }, (_, n) => ({ _uid: `u${n}`, plan: "pro", age: n })));
    await put("first", { attribute: "plan" });
    const walker = walkerOf();
    await walker.tick();
    await put("second", { attribute: "age", below: 100 });
    const seen: (readonly [boolean, boolean])[] = [];
    do {
      seen.push([(await computing("first")) !== undefined, (await computing("second")) !== undefined]);
    } while (await walker.tick());
    expect([await membersOf("first"), await membersOf("second")]).to.deep.equal([1_203, 100]);
    expect(seen).to.deep.include([false, true]);
    expect([await computing("first"), await computing("second")]).to.deep.equal([undefined, undefined]);
  });

  it("is continued by another walker at its place", async () => {
    await stage.collect(Array.from({ length: 1_203 }, (_, n) => ({ _uid: `u${n}` })));
    await put("all", { attribute: "_uid" });
    await walkerOf().tick();
    const other = walkerOf();
    expect(await other.tick()).to.equal(true);
    expect(await membersOf("all")).to.equal(200);
    await finish(other);
    expect([await membersOf("all"), await computing("all")]).to.deep.equal([1_203, undefined]);
  });

  it("begins a circle again whose places were not copied with it", async () => {
    await stage.collect(Array.from({ length: 250 }, (_, n) => ({ _uid: `u${n}` })));
    await put("all", { attribute: "_uid" });
    const [segment] = (await stage.stores.catalogue.rules()).segments;
    const copied = { since: now, start: { lap: 5, after: "", passed: 2_500 } };
    await stage.stores.catalogue.setComputing("all", segment?.byRule as SegmentRule, copied);
    for (let ticks = 0; ticks < 3; ticks += 1) await walkerOf().tick();
    expect(await computing("all")).to.equal(undefined);
    expect(await membersOf("all")).to.equal(250);
  });

  it("waits for commits that were planned before the change, whatever the clocks of processes are", async () => {
    await stage.collect([{ _uid: "a", plan: "pro" }]);
    const since = now;
    await put("plan", { attribute: "plan" });
    const walker = walkerOf({ commitMs: HOUR });
    for (const at of [since, since - 1_000, since + DAY]) {
      now = at;
      expect(await walker.tick()).to.equal(false);
    }
    expect(await computing("plan")).to.deep.equal({ since });
    await finish(walkerOf());
    expect(await computing("plan")).to.equal(undefined);
  });

  it("decides everyone by a change although a walker that was held moves on from a page of before", async () => {
    await stage.collect(Array.from({ length: 1_203 }, (_, n) => ({ _uid: `u${n}`, age: n })));
    await put("first", { attribute: "age" });
    const held = new HeldCalls();
    const walker = walkerOf(portsThrough({ facts: stage.stores.facts }, ["facts"], held.around));
    await walker.tick();
    const reached = held.hold(0, "replaceText");
    const tick = walker.tick();
    await reached;
    await put("second", { attribute: "age" });
    const { setComputing } = stage.stores.catalogue;
    const catalogue: typeof stage.stores.catalogue = {
      ...stage.stores.catalogue,
      async setComputing(...args) {
        const isStored = await setComputing(...args);
        held.release();
        await tick;
        return isStored;
      },
    };
    await finish(walkerOf({ catalogue }));
    expect([await computing("second"), await membersOf("second")]).to.deep.equal([undefined, 1_203]);
  });

  it("neither ends nor begins the circle after the clock was set back for one that was held before", async () => {
    await put("trial", { attribute: "trial_ends", after: "now" });
    const held = new HeldCalls();
    const reached = held.hold(0, "setComputing");
    const tick = walkerOf(portsThrough({ catalogue: stage.stores.catalogue }, ["catalogue"], held.around)).tick();
    await reached;
    now -= 2 * HOUR;
    await walkerOf().tick();
    held.release();
    await tick;
    expect(await computing("trial")).to.deep.equal({ since: now });
  });

  it("does nothing without the lease", async () => {
    await stage.collect([{ _uid: "a", plan: "pro" }]);
    await put("plan", { attribute: "plan" });
    expect(await walkerOf({ lease: async () => "refused" as const }).tick()).to.equal(false);
    expect(await membersOf("plan")).to.equal(0);
  });

  it("decides a profile at the instant at which a rule changes by time", async () => {
    const ends = now + 2 * DAY;
    await put("trial", { attribute: "trial_ends", after: "now" });
    await finish();
    await stage.collect([{ _uid: "a", trial_ends: new Date(ends).toISOString() }]);
    const { due = 0 } = await stage.stored("a");
    expect(due % DAY).to.equal(0);
    now = due;
    await finish();
    expect((await stage.stored("a")).due).to.equal(ends + 1);
    now = ends;
    await finish();
    expect(await membersOf("trial")).to.equal(1);
    now = ends + 1;
    await finish();
    expect([await membersOf("trial"), (await stage.stored("a")).due]).to.deep.equal([0, undefined]);
  });

  it("decides every profile again after the clock was set back", async () => {
    await put("trial", { attribute: "trial_ends", after: "now" });
    await stage.collect([{ _uid: "a", trial_ends: new Date(now + HOUR).toISOString() }]);
    const walker = walkerOf();
    await finish(walker);
    now += 2 * HOUR;
    await finish(walker);
    expect(await membersOf("trial")).to.equal(0);
    now -= 2 * HOUR;
    await finish(walker);
    expect([await membersOf("trial"), await computing("trial")]).to.deep.equal([1, undefined]);
  });

  it("completes the facts of a profile of version 1.0.0 from its messages", async () => {
    for (let n = 0; n < 3; n += 1) await stage.collect([{ _uid: "a" }], { stream: "shop" });
    const entity = await stage.stored("a");
    const keys = await stage.stores.entityKeys.read([entity.id]);
    const earlier = changeOf(withoutFacts(entity, keys));
    expect(await stage.stores.entities.commit(commitOf([earlier]))).to.equal(true);
    await put("buyer", { stream: "shop", count: { at_least: 3 } });
    await finish();
    expect(segmentsIn((await stage.stored("a")).memberships)).to.deep.equal(["buyer"]);
    await put("twice", { stream: "shop", count: { at_least: 3, within: "1d" } });
    await finish();
    expect(segmentsIn((await stage.stored("a")).memberships)).to.deep.equal(["buyer", "twice"]);
  });

  it("skips a damaged profile, which does not hold up the others", async () => {
    await stage.collect([{ _uid: "a" }, { _uid: "b" }]);
    const { id, ...entity } = await stage.stored("a");
    const damaged = changeOf({ ...entity, id, due: now - HOUR, sealed: Uint8Array.of(1, 2, 3) });
    expect(await stage.stores.entities.commit(commitOf([damaged]))).to.equal(true);
    await put("all", { attribute: "_uid" });
    const walker = walkerOf();
    await finish(walker);
    expect([await membersOf("all"), await computing("all"), walker.lag()]).to.deep.equal([1, undefined, 0]);
    expect(reported).to.deep.equal([id]);
  });

  it("changes few updates of segments in one commit, which is one step of the embedded engine", async () => {
    await stage.collect(Array.from({ length: 100 }, (_, n) => ({ _uid: `u${n}` })));
    for (let n = 0; n < 20; n += 1) await put(`all${n}`, { attribute: "_uid" });
    const { entities } = stage.stores;
    const updates: number[] = [];
    const commit: typeof entities.commit = (plan) => {
      updates.push(plan.profiles.reduce((sum, { changedSegments }) => sum + changedSegments.size, 0));
      return entities.commit(plan);
    };
    await finish(walkerOf({ entities: { ...entities, commit } }));
    expect(Math.max(...updates)).to.be.within(1_000, 1_020);
    expect(await membersOf("all19")).to.equal(100);
  });

  it("reports no damage of a profile whose deletion ends while it is decided", async () => {
    await stage.collect([{ _uid: "a" }]);
    await put("all", { attribute: "_uid" });
    const { entityKeys } = stage.stores;
    const read: typeof entityKeys.read = async (ids) => {
      await entityKeys.destroy(ids);
      return entityKeys.read(ids);
    };
    await finish(walkerOf({ entityKeys: { ...entityKeys, read } }));
    expect([reported, await membersOf("all")]).to.deep.equal([[], 0]);
  });

  it("decides by the newest profile when messages change it concurrently", async () => {
    await stage.collect(Array.from({ length: 50 }, (_, n) => ({ _uid: `u${n}`, plan: "pro" })));
    await put("pro", { attribute: "plan", is: "pro" });
    const { entities } = stage.stores;
    let changed = 0;
    const load: typeof entities.load = async (...args) => {
      const loaded = await entities.load(...args);
      if (changed < 3) await stage.collect([{ _uid: `u${changed++}`, plan: "free" }]);
      return loaded;
    };
    const ids = await entities.idsAfter(undefined, 100);
    await decideProfiles({ ...dependencies(), entities: { ...entities, load } }, ids, "walk");
    expect([changed, await membersOf("pro")]).to.deep.equal([3, 47]);
  });
});
