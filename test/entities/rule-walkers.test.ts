import { expect } from "chai";
import { audienceCounts } from "../../src/catalogue/audience-counts.js";
import type { RuleWalker } from "../../src/entities/decide/rule-walker.js";
import type { Rule } from "../../src/segments/rule.js";
import { type Around, portsThrough } from "../support/held-calls.js";
import { amount } from "../support/servers.js";
import { type RuleWorld, randomHistories, randomOf, type Sent } from "./rule-world.js";

const CHANGES = 20;
const HOUR = 3_600_000;

describe("P38: a changed rule reaches everyone", () => {
  randomHistories(
    "with walkers that are killed, or held at any call and continue late: random history",
    amount(8, 1),
    changeDuringWalks,
  );
});

const RULES = ["r0", "r1", "r2"];
const STREAMS = ["web", "shop"];

/** Work whose calls of ports wait until the test makes them. */
class Process {
  readonly #waiting: (() => void)[] = [];
  #running: Promise<unknown> | undefined;

  readonly around: Around = async (call) => {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return call();
  };

  /** Begins work unless it is still doing some. */
  begin(work: () => Promise<unknown>): void {
    this.#running ??= work().finally(() => {
      this.#running = undefined;
    });
  }

  /** Makes the next call, and waits until there is another one or the work has ended. */
  async step(): Promise<void> {
    this.#waiting.shift()?.();
    while (this.#running !== undefined && this.#waiting.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async end(): Promise<void> {
    while (this.#running !== undefined) await this.step();
  }
}

async function changeDuringWalks(world: RuleWorld, seed: number): Promise<void> {
  const { chance, pick, some, whole } = randomOf(seed);
  const { lease: _, ...stores } = world.open.stores;
  // A page has at most 100 people.
  const people = Array.from({ length: chance(0.4) ? 250 : 8 }, (_, n) => `u${n}`);
  const names = ["entities", "catalogue", "facts", "entityKeys", "history"] as const;
  const walkerIn = (process: Process): RuleWalker => world.walker(portsThrough(stores, names, process.around));
  const processes = Array.from({ length: 3 }, () => {
    const process = new Process();
    return { process, walker: walkerIn(process) };
  });
  const killed: Process[] = [];

  const sent = (name: string): Sent => ({
    names: chance(0.05) ? [name, pick(people)] : [name],
    stream: pick(STREAMS),
    ahead: undefined,
    attributes: { plan: pick(["pro", "free", null]), age: whole(1, 3), ends: ends() },
    segments: { add: some(["p0"]) },
  });
  const ends = () => new Date(world.now + whole(-HOUR, HOUR)).toISOString();

  function rule(id: string): Rule {
    const leaves: Rule[] = [
      { attribute: "plan", is: pick(["pro", "free"]) },
      { attribute: "age", at_least: whole(1, 3) },
      { attribute: "ends", after: "now" },
      { stream: pick(STREAMS), count: { at_least: whole(1, 3), within: "1d" } },
      { segment: id === "r0" || !world.model.rules.has("r0") ? "p0" : "r0" },
    ];
    return chance(0.5) ? { not: pick(leaves) } : pick(leaves);
  }

  /** A segment that is not computing has the decisions of its rule; no size of another is counted. */
  async function check(): Promise<void> {
    const sizes = await audienceCounts(stores.catalogue, stores.memberships).segmentSizes(new Set(RULES));
    for (const { id, members } of sizes) expect(members, `size of ${id}`).to.equal(membersOf(id));
  }
  const membersOf = (id: string) => world.model.people.filter((one) => world.model.isMember(one, id, world.now)).length;

  for (let at = 0; at < people.length; at += 100) await world.collect(people.slice(at, at + 100).map(sent));
  await world.collect([{ ...sent("u0"), segments: { add: ["p0"] } }]);
  for (let changes = 0, steps = 0; changes < CHANGES || steps < 200; steps += 1) {
    const one = pick(processes);
    one.process.begin(() => one.walker.tick());
    // Most of the time one of them alone continues.
    for (let calls = whole(1, chance(0.3) ? 60 : 8); calls > 0; calls -= 1) await one.process.step();
    if (chance(0.1)) {
      const id = pick(RULES);
      await world.put(id, rule(id));
      changes += 1;
    }
    if (chance(0.05)) await world.collect([sent(pick(people))]);
    if (chance(0.02) && world.model.people.length > 0) await world.erase(pick(world.model.people));
    if (chance(0.03)) await world.runDeletions();
    if (chance(0.02)) {
      killed.push(one.process);
      one.process = new Process();
      one.walker = walkerIn(one.process);
    }
    // A killed process is one that was only frozen.
    if (chance(0.02)) await pick(killed)?.end();
    await check();
  }
  await Promise.all([...killed, ...processes.map(({ process }) => process)].map((process) => process.end()));
  const walker = world.walker();
  while (await walker.tick());
  await world.runDeletions();
  await world.expectTruth();
}
