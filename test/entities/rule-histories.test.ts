import type { Leaf, Rule } from "../../src/segments/rule.js";
import { amount } from "../support/servers.js";
import { type RuleWorld, randomHistories, randomOf, type Sent } from "./rule-world.js";

const STEPS = 60;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("P37: a rule is true", () => {
  randomHistories(
    "about everyone at every quiet moment, and at its boundaries, of the random history",
    amount(12, 2),
    liveThrough,
  );
});

const STREAMS = ["web", "shop", "app"];
const RULES = ["r0", "r1", "r2", "r3", "r4", "r5"];
const PUSHED = ["p0", "p1"];
const PEOPLE = Array.from({ length: 9 }, (_, n) => `u${n}`);
/** The largest number of a count within a time. */
const MOST = 4;

/** In histories with a retention this rule keeps the event times that all others need. */
const KEEPS_TIMES: Rule = {
  any: STREAMS.map((stream) => ({ stream, count: { at_least: MOST + 1, within: "1d" } })),
};

async function liveThrough(world: RuleWorld, seed: number): Promise<void> {
  const random = randomOf(seed);
  const { chance, pick, some, whole } = random;
  const hasRetention = chance(0.3);
  let wasSetBack = false;
  let walker = world.walker();
  if (hasRetention) await world.put("kept", KEEPS_TIMES);

  async function finish(): Promise<void> {
    while (await walker.tick());
  }

  async function quiet(): Promise<void> {
    await finish();
    await world.expectTruth();
    if (!wasSetBack) await world.expectDaysOnly();
  }

  /** Goes to the next instants at which time changes a decision. */
  async function boundary(): Promise<void> {
    await quiet();
    const { model, now } = world;
    const at = Math.min(...model.people.map((person) => model.nextChange(person, now)));
    if (at === Number.POSITIVE_INFINITY || at > now + 5 * DAY) return;
    for (const instant of [at - 1, at, at + 1]) {
      world.now = Math.max(world.now, instant);
      await quiet();
    }
  }

  function pass(time: number): void {
    world.now += time;
  }

  async function setBack(): Promise<void> {
    await finish();
    pass(-whole(MINUTE, 8 * HOUR));
    wasSetBack = true;
  }

  function otherWalker(): void {
    walker = world.walker();
  }

  const anyRule = (id: string) => world.put(id, rule(id, 3));

  function message(): Sent {
    const ends = () => new Date(world.now + whole(-3 * DAY, 3 * DAY)).toISOString();
    const attributes = {
      ...(chance(0.5) ? { plan: pick(["pro", "free", null]) } : {}),
      ...(chance(0.3) ? { age: pick([1, 2, 3, null]) } : {}),
      ...(chance(0.5) ? { ends: pick([ends(), ends(), [ends(), ends()], "never", null]) } : {}),
      ...(chance(0.3) ? { tags: some(["x", "y", "z"]) } : {}),
    };
    const all = [...RULES, ...PUSHED];
    return {
      names: chance(0.12) ? [pick(PEOPLE), pick(PEOPLE)] : [pick(PEOPLE)],
      stream: pick(STREAMS),
      ahead: chance(0.5) ? undefined : chance(0.2) ? whole(0, 10 * MINUTE) : -whole(0, 4 * DAY),
      // Version 1.0.0 did not store which messages count.
      isUncounted: hasRetention && chance(0.2),
      attributes,
      segments: chance(0.15)
        ? { full: some(all) }
        : { [pick(["add", "remove"])]: chance(0.3) ? [pick(chance(0.1) ? all : PUSHED)] : [] },
    };
  }

  function leaf(id: string): Leaf {
    const ago = pick(["1h", "6h", "1d", "3d"]);
    const relative = pick(["now", `now-${ago}`, `now+${ago}`, new Date(world.now + whole(-DAY, DAY)).toISOString()]);
    const instants = { [pick(["after", "before"])]: relative };
    const named = [...world.model.pushed, ...[...world.model.rules.keys()].filter((other) => other < id)];
    const stream = chance(0.6) ? pick(STREAMS) : ["web", "shop"];
    const bound = { [pick(["at_least", "above", "at_most", "below"])]: whole(0, MOST - 1) };
    const leaves: Leaf[] = [
      { attribute: "plan", is: pick(["pro", "free"]) },
      { attribute: "age", ...bound },
      { attribute: pick(["plan", "ends", "tags", "_uid"]) },
      { attribute: "tags", is: ["x", "y"] },
      { attribute: "ends", ...instants },
      { attribute: "ends", after: `now-${ago}`, before: "now+1d" },
      { stream, count: { ...bound, within: ago } },
      { stream, count: bound },
      { stream, last: instants },
      { stream, first: instants },
      { stream, count: { at_least: 1, within: ago }, last: instants },
      { stream },
      { profile: pick(["created_at", "seen_at"] as const), ...instants },
    ];
    return named.length > 0 && chance(0.25) ? { segment: pick(named) } : pick(leaves);
  }

  function rule(id: string, depth: number): Rule {
    if (depth === 0 || chance(0.3)) return leaf(id);
    if (chance(0.25)) return { not: rule(id, depth - 1) };
    const parts = Array.from({ length: whole(1, 3) }, () => rule(id, depth - 1));
    return chance(0.5) ? { all: parts } : { any: parts };
  }

  const messages = () => world.collect(Array.from({ length: whole(1, 4) }, message));
  const steps: readonly (readonly [weight: number, step: () => unknown])[] = [
    [12, messages],
    [4, () => anyRule(pick(RULES))],
    [1, () => world.deleteSegment(pick([...RULES, ...PUSHED]))],
    [2, () => walker.tick()],
    [2, otherWalker],
    [1, () => world.restart()],
    [1, () => world.model.people.length > 0 && world.erase(pick(world.model.people))],
    [1, () => world.runDeletions()],
    [hasRetention ? 0 : 2, () => world.model.people.length > 0 && world.withoutFacts(pick(world.model.people))],
    [hasRetention ? 2 : 0, () => world.open.stores.history.expire(world.now - whole(0, 2 * DAY))],
    [1, () => world.open.stores.catalogue.endMemberships()],
    [4, () => pass(whole(0, 12 * HOUR))],
    [1, setBack],
    [3, () => Promise.all([walker.tick(), messages()])],
    [1, () => Promise.all([walker.tick(), world.model.people.length > 0 && world.erase(pick(world.model.people))])],
    [3, quiet],
    [2, boundary],
  ];
  const weights = steps.flatMap(([weight, step]) => Array.from({ length: weight }, () => step));
  for (let n = 0; n < STEPS; n += 1) await pick(weights)();
  await world.runDeletions();
  await boundary();
}
