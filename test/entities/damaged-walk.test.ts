import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { Binary } from "mongodb";
import { ruleWalker } from "../../src/entities/decide/rule-walker.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { currentRules } from "../../src/segments/current-rules.js";
import type { Rule } from "../../src/segments/rule.js";
import type { EntityKeyDocument } from "../../src/stores/mongodb/profiles/entity-keys.js";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";
import type { EntityEngine, Stores } from "../../src/stores/stores.js";
import { openTestEngine } from "../stores/mongodb/engine.js";
import { dataFolder } from "../support/data-folder.js";
import { entityStage } from "../support/entity-stage.js";
import { onServers } from "../support/servers.js";
import { storesOf } from "../support/stores.js";

const DAY = 24 * 3_600_000;
const PAGE = 4_096;
/** A start reads the newest 1,000 profiles and messages, and refuses a file in which one of them is damaged. */
const PEOPLE = 1_100;

/** Adds a segment by rule at `now`, and decides everyone. Returns the damaged profiles, and the lag after it. */
async function decideAll(stores: EntityEngine, id: string, rule: Rule, now = Date.now()) {
  const { generation } = await stores.catalogue.rules();
  await stores.catalogue.putRule({ id, name: id, table: "user", rule, names: [] }, generation, now);
  const damaged: string[] = [];
  const walker = ruleWalker({
    ...stores,
    rules: currentRules(stores.catalogue),
    clock: () => now,
    memory: new MemoryBudget(1e9),
    countDecisions() {},
    damaged: (entity) => void damaged.push(entity),
    lease: async () => "renewed",
    commitMs: 0,
  });
  while (await walker.tick());
  expect((await stores.catalogue.segmentsById([id])).get(id)?.byRule?.computing).to.equal(undefined);
  return { damaged, lag: walker.lag() };
}

onServers(["mongodb"], "the walk over damaged documents", () => {
  it("decides everyone except the profile whose key is damaged, which it counts", async () => {
    const { stores, client, name, close } = await openTestEngine();
    const { collect, stored } = await entityStage(undefined, stores as Stores);
    await collect([{ _uid: "a" }, { _uid: "b" }, { _uid: "c" }]);
    const { id } = await stored("b");
    const keys = client.db(`${name}_ledger`).collection<EntityKeyDocument>("entity_keys");
    await keys.updateOne({ _id: id }, { $set: { key: new Binary(Buffer.alloc(40, 7)) } });
    const { damaged } = await decideAll(stores, "all", { attribute: "_uid" });
    const sizes = await stores.memberships.sizes(["all"]);
    await close();
    expect([sizes, damaged]).to.deep.equal([[2], [id]]);
  });
});

describe("the walk over damaged files", () => {
  let whole: string;
  before(async () => {
    whole = dataFolder();
    const { stores, close } = await storesOf(whole, undefined, false);
    const { collect } = await entityStage(undefined, stores);
    const people = Array.from({ length: PEOPLE }, (_, n) => ({ _uid: `u${n}`, segments: { add: ["a", "b"] } }));
    for (let n = 0; n < 3; n += 1) await collect(people);
    await decideAll(stores, "twice", { stream: "web", count: { at_least: 2, within: "9w" } });
    await close();
  });

  /** Overwrites the first leaf of the b-tree of a table or an index. */
  function damage(path: string, name: string): void {
    const db = new DatabaseSync(path, { readOnly: true });
    const { root } = db.prepare("SELECT rootpage AS root FROM sqlite_schema WHERE name = ?").get(name) as {
      root: number;
    };
    db.close();
    const bytes = readFileSync(path);
    const pageAt = (number: number) => bytes.subarray((number - 1) * PAGE, number * PAGE);
    let page = pageAt(root);
    // Types of interior pages of an index and of a table; their first cell begins with the number of a child.
    while ([2, 5].includes(page[0] as number)) page = pageAt(page.readUInt32BE(page.readUInt16BE(12)));
    page.fill(0);
    writeFileSync(path, bytes);
  }

  const parts = [
    ["entity", "entities.db"],
    ["identity_entity", "entities.db"],
    ["membership", "entities.db"],
    ["message", "entities.db"],
    ["entity_key", "ledger.db"],
  ] as const;
  for (const [name, file] of parts) {
    it(`decides everyone, by rule and by time, except the profiles of a damaged page of ${name}, which it counts`, async () => {
      const dir = dataFolder();
      cpSync(whole, dir, { recursive: true });
      damage(join(dir, file), name);
      const { stores } = await storesOf(dir, undefined, false);
      const rule = { stream: "web", count: { at_least: 3, within: "52w" } };
      const { damaged, lag } = await decideAll(stores, "thrice", rule, Date.now() + 70 * DAY);
      expect(new Set(damaged).size)
        .to.equal(damaged.length)
        .and.to.be.within(1, PEOPLE / 2);
      const [decided = 0, undecided = 0] = await stores.memberships.sizes(["thrice", "twice"]);
      expect(decided + undecided).to.equal(PEOPLE);
      expect(undecided).to.be.at.most(damaged.length);
      expect(lag).to.equal(0);
    });
  }
});
