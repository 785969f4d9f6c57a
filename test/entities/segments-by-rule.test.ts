import { expect } from "chai";
import { segmentsIn } from "../../src/entities/profile/entity.js";
import type { Rule } from "../../src/segments/rule.js";
import { type EntityStage, entityStage } from "../support/entity-stage.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("messages about people in segments by rule", () => {
  let stage: EntityStage;
  let historyReads = 0;

  beforeEach(async () => {
    stage = await entityStage(({ history }) => ({
      history: {
        ...history,
        page(...args) {
          historyReads += 1;
          return history.page(...args);
        },
      },
    }));
  });

  async function put(id: string, rule: Rule, names: readonly string[] = []): Promise<void> {
    const { catalogue } = stage.stores;
    const { generation } = await catalogue.rules();
    const stored = await catalogue.putRule({ id, name: id, table: "user", rule, names }, generation, Date.now());
    expect(stored).to.equal("stored");
  }

  const segmentsOf = async (uid: string) => segmentsIn((await stage.stored(uid)).memberships);

  async function moves() {
    const counts = await stage.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 99);
    return Object.fromEntries(
      counts.filter(({ stream }) => stream.startsWith("/")).map((one) => [one.stream, one.count]),
    );
  }

  it("are in them from the commit of the message on, and leave them with one", async () => {
    await put("pro", { attribute: "plan", is: "pro" });
    await stage.collect([
      { _uid: "a", plan: "pro" },
      { _uid: "b", plan: "free" },
    ]);
    expect(await segmentsOf("a")).to.deep.equal(["pro"]);
    expect([...(await stage.stored("b")).memberships.updates]).to.deep.equal([]);
    expect(await stage.stores.memberships.sizes(["pro"])).to.deep.equal([1]);
    await stage.collect([{ _uid: "a", plan: "free" }]);
    expect(await segmentsOf("a")).to.deep.equal([]);
    expect(await moves()).to.deep.equal({ "/joined/pro": 1, "/left/pro": 1 });
  });

  it("are decided by the profile after a merge, and by segments that its rules name", async () => {
    await put("pro", { attribute: "plan", is: "pro" });
    await put("both", { all: [{ segment: "pro" }, { segment: "pushed" }] }, ["pro", "pushed"]);
    await stage.collect([
      { _uid: "a", plan: "pro" },
      { _uid: "b", segments: ["pushed"] },
    ]);
    expect(await segmentsOf("b")).to.deep.equal(["pushed"]);
    await stage.collect([{ _uid: ["a", "b"] }]);
    expect(await segmentsOf("b")).to.deep.equal(["both", "pro", "pushed"]);
  });

  it("cannot name them, and a full list does not speak of them", async () => {
    await put("pro", { attribute: "plan", is: "pro" });
    await stage.collect([{ _uid: "a", plan: "pro", segments: ["x"] }]);
    for (const segments of [{ add: ["pro"] }, { remove: ["pro"] }]) {
      expect(await stage.collect([{ _uid: "a", segments }])).to.deep.equal(["segment_by_rule"]);
    }
    expect(await stage.collect([{ _uid: "a", segments: ["y"] }])).to.deep.equal([]);
    expect(await segmentsOf("a")).to.deep.equal(["pro", "y"]);
    expect(await stage.collect([{ _uid: "b", segments: ["pro"] }])).to.deep.equal([]);
    expect(await segmentsOf("b")).to.deep.equal([]);
  });

  it("may name them in a full list also when the pushed segments of a person reach their limit", async () => {
    await put("pro", { attribute: "plan", is: "pro" });
    for (let first = 0; first < 10_000; first += 1_000) {
      const add = Array.from({ length: 1_000 }, (_, n) => `s${first + n}`);
      expect(await stage.collect([{ _uid: "a", segments: { add } }])).to.deep.equal([]);
    }
    expect(await stage.collect([{ _uid: "a", segments: ["s1", "pro"] }])).to.deep.equal([]);
    expect(await segmentsOf("a")).to.deep.equal(["s1"]);
  });

  it("are counted by their messages in each stream, also in late ones and after a merge", async () => {
    await put("buyer", { stream: "shop", count: { at_least: 3, within: "7d" } });
    const now = Date.now();
    await stage.collect([{ _uid: "a" }], { stream: "shop" });
    await stage.collect([{ _uid: "a", at: new Date(now - 8 * DAY).toISOString() }], { stream: "shop" });
    await stage.collect([{ _uid: "b", at: new Date(now - 6 * DAY).toISOString() }], { stream: "shop" });
    await stage.collect([{ _uid: "b" }], { stream: "web" });
    expect([await segmentsOf("a"), await segmentsOf("b")]).to.deep.equal([[], []]);
    await stage.collect([{ _uid: ["a", "b"] }], { stream: "web" });
    expect(await segmentsOf("a")).to.deep.equal([]);
    await stage.collect([{ _uid: "a", at: new Date(now - HOUR).toISOString() }], { stream: "shop" });
    expect(await segmentsOf("a")).to.deep.equal(["buyer"]);
  });

  it("have the facts that a later rule needs, which are read from the stored messages", async () => {
    for (let n = 0; n < 3; n += 1) await stage.collect([{ _uid: "a" }], { stream: "shop" });
    await put("buyer", { stream: "shop", count: { at_least: 3, within: "7d" } });
    await stage.collect([{ _uid: "a" }], { stream: "web" });
    expect(await segmentsOf("a")).to.deep.equal(["buyer"]);
  });

  it("keep the event times that the history has not lost, which is not read again for the others", async () => {
    const shop = (days: number) =>
      stage.collect([{ _uid: "a", at: new Date(Date.now() - days * DAY).toISOString() }], { stream: "shop" });
    await shop(1);
    await shop(2);
    const [first] = await stage.stores.history.page([(await stage.stored("a")).id], undefined, 1);
    await stage.stores.history.expire((first?.arrival ?? 0) + 1 / 2048);
    await shop(3);
    await put("thrice", { stream: "shop", count: { at_least: 3, within: "9d" } });
    await stage.collect([{ _uid: "a" }]);
    expect(await segmentsOf("a")).to.deep.equal(["thrice"]);
    await stage.stores.history.expire(Date.now() + DAY);
    await shop(4);
    await stage.stores.history.expire(Date.now() + DAY);
    await put("often", { stream: "shop", count: { at_least: 4, within: "9d" } });
    await shop(5);
    historyReads = 0;
    await shop(6);
    expect([historyReads, await segmentsOf("a")]).to.deep.equal([0, ["often", "thrice"]]);
  });

  it("are due when a rule changes by time, at the start of that day while it is more than a day ahead", async () => {
    await put("seen", { stream: "web", last: { after: "now-30d" } });
    const before = Date.now();
    await stage.collect([{ _uid: "a" }]);
    const { due = 0 } = await stage.stored("a");
    expect(due % DAY).to.equal(0);
    expect(due).to.be.within(before + 29 * DAY, before + 30 * DAY);
    await stage.collect([{ _uid: "a" }]);
    expect((await stage.stored("a")).due).to.equal(due);
    await put("soon", { attribute: "trial_ends", after: "now" });
    const ends = Date.now() + HOUR;
    await stage.collect([{ _uid: "a", trial_ends: new Date(ends).toISOString() }]);
    expect((await stage.stored("a")).due).to.equal(ends + 1);
    expect(await segmentsOf("a")).to.deep.equal(["seen", "soon"]);
  });
});
