import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { monotonicClock } from "../../src/clock.js";
import { collectMessages } from "../../src/entities/collect/collect-messages.js";
import { parseMessage } from "../../src/entities/collect/parse-message.js";
import { type RuleWalker, ruleWalker } from "../../src/entities/decide/rule-walker.js";
import { type StoredEntity, segmentsIn } from "../../src/entities/profile/entity.js";
import { identityHashing } from "../../src/entities/profile/identity-hash.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { currentRules } from "../../src/segments/current-rules.js";
import type { Rule } from "../../src/segments/rule.js";
import { type Deletions, deletionsOver, runDue } from "../deletions/erasure-stage.js";
import { changeOf, commitOf, withoutFacts } from "../support/commits.js";
import { messageRules, userTable } from "../support/entity-stage.js";
import { type OpenStores, openTemporaryStores } from "../support/stores.js";
import { type KeptMessage, PeopleOfRules, type Person, segmentsNamed } from "./people-of-rules.js";

const DAY = 86_400_000;

/** A message that a test sends. */
export interface Sent {
  readonly names: readonly string[];
  readonly stream: string;
  /** Event time against now, ms; undefined: it names none. */
  readonly ahead: number | undefined;
  readonly isUncounted?: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly segments: KeptMessage["segments"];
}

/** Collects messages and walks over stores with a clock of its own, next to a model. */
export class RuleWorld {
  readonly model = new PeopleOfRules();
  now = Date.UTC(2026, 5, 1, 12);
  /** Joined less left of each segment when it was deleted last. */
  readonly #movedBefore = new Map<string, number>();
  #arrivals = monotonicClock(() => this.now);
  #collect!: ReturnType<typeof collectMessages>;
  readonly #deletions: Deletions;
  readonly #hash;
  readonly open: OpenStores;

  constructor(open: OpenStores) {
    this.open = open;
    this.#hash = identityHashing(open.stores.pepper);
    this.#deletions = deletionsOver(open.stores, { clock: () => this.now });
    this.restart();
  }

  /** A new process: nothing is cached. It takes a while, so no arrival is given twice. */
  restart(): void {
    this.now += 1;
    this.#arrivals = monotonicClock(() => this.now);
    this.#collect = collectMessages({
      ...this.open.stores,
      ...this.#common(),
      newId: () => randomBytes(16).toString("hex"),
      countTaken() {},
      countLeftOut() {},
    });
  }

  #common() {
    return {
      rules: currentRules(this.open.stores.catalogue),
      clock: () => this.now,
      memory: new MemoryBudget(1e9),
      countDecisions() {},
    };
  }

  walker(more: Partial<Parameters<typeof ruleWalker>[0]> = {}): RuleWalker {
    const { lease: _, ...stores } = this.open.stores;
    return ruleWalker({
      ...stores,
      ...this.#common(),
      damaged: (id) => expect.fail(`damaged: ${id}`),
      lease: async () => "renewed",
      commitMs: 0,
      ...more,
    });
  }

  async put(id: string, rule: Rule): Promise<void> {
    const { catalogue } = this.open.stores;
    const { generation } = await catalogue.rules();
    const segment = { id, name: id, table: "user", rule, names: [...new Set(segmentsNamed(rule))] };
    const stored = await catalogue.putRule(segment, generation, this.now);
    expect(stored).to.equal(this.model.pushed.has(id) ? "pushed" : "stored");
    if (stored === "stored") this.model.rules.set(id, rule);
  }

  async deleteSegment(id: string): Promise<void> {
    const { catalogue } = this.open.stores;
    const isDeleted = this.model.deleteSegment(id, this.now);
    expect((await catalogue.deleteSegment(id, this.now)) === "deleted").to.equal(isDeleted);
    if (isDeleted) this.#movedBefore.set(id, (await this.#moves()).get(id) ?? 0);
  }

  /** Collects messages as one batch; afterwards each person has the decisions of the newest rules. */
  async collect(sent: readonly Sent[]): Promise<void> {
    const arrival = this.#arrivals();
    const batch = sent.map(({ names, stream, ahead, isUncounted = false, attributes, segments }, position) => {
      const time = ahead === undefined ? arrival : this.now + ahead;
      const said = "full" in segments ? segments.full : segments;
      const message = parseMessage({ _uid: names, ...attributes, segments: said }, messageRules());
      return {
        kept: {
          time,
          arrival,
          isTimeNamed: ahead !== undefined,
          stream,
          isCounted: !isUncounted,
          attributes,
          segments,
        },
        names,
        batched: {
          id: randomBytes(16).toString("hex"),
          possiblyStoredSince: undefined,
          version: { time, arrival, position },
          weight: 1,
          message: { ...message, isUncounted },
          table: userTable,
          stream,
          hashes: message.identities.map((identity) => this.#hash("user", identity)),
          late: new AbortController().signal,
        },
      };
    });
    const outcomes = await this.#collect(batch.map(({ batched }) => batched));
    const stored = batch.filter(({ kept, names, batched }) => {
      const outcome = this.model.collect(names, kept);
      expect(outcomes.get(batched.message)?.issue?.code ?? "taken").to.equal(outcome === "dropped" ? "taken" : outcome);
      return outcome === "taken";
    });
    for (const person of new Set(stored.flatMap(({ names: [name = ""] }) => this.model.personOf(name) ?? []))) {
      expect(segmentsIn((await this.stored(person)).memberships), "after a message").to.deep.equal(
        this.model.segmentsOf(person, this.now),
      );
    }
  }

  async stored({ names }: Person): Promise<StoredEntity> {
    const hashes = [...names].map((value) => this.#hash("user", { field: "_uid", value }));
    const { profiles } = await this.open.stores.entities.find(hashes);
    expect(profiles.size).to.equal(1);
    return [...profiles.values()][0] as StoredEntity;
  }

  /** Accepts the deletion of a person. */
  async erase(person: Person): Promise<void> {
    const [value = ""] = person.names;
    this.model.erase(person, this.now);
    await this.#deletions.accept("user", { field: "_uid", value });
  }

  /** Runs the accepted deletions. */
  async runDeletions(): Promise<void> {
    await runDue(this.open.stores.ledger, this.#deletions, () => this.now);
  }

  /** Stores the profile of a person as version 1.0.0 did: without facts. */
  async withoutFacts(person: Person): Promise<void> {
    const entity = await this.stored(person);
    const { entities, entityKeys, catalogue } = this.open.stores;
    const keys = await entityKeys.read([entity.id]);
    const { generation } = await catalogue.rules();
    const earlier = changeOf(withoutFacts(entity, keys));
    expect(await entities.commit(commitOf([earlier], { generation }))).to.equal(true);
  }

  async #moves(): Promise<Map<string, number>> {
    const moves = new Map<string, number>();
    for (const { stream, count } of await this.open.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 99_999)) {
      const [, type, segment = ""] = /^\/(joined|left)\/(.*)$/.exec(stream) ?? [];
      if (type !== undefined) moves.set(segment, (moves.get(segment) ?? 0) + (type === "joined" ? count : -count));
    }
    return moves;
  }

  /** Every decision is the one of the model, and is due again no later than time changes it. */
  async expectTruth(): Promise<void> {
    const { now, model } = this;
    const { memberships, catalogue } = this.open.stores;
    const members = new Map<string, string[]>([...model.rules.keys(), ...model.pushed].map((id) => [id, []]));
    for (const person of model.people) {
      const { id, due = Number.POSITIVE_INFINITY, ...entity } = await this.stored(person);
      const segments = model.segmentsOf(person, now);
      expect(segmentsIn(entity.memberships), [...person.names].join()).to.deep.equal(segments);
      for (const segment of segments) members.get(segment)?.push(id);
      expect(due, "due").to.be.at.most(model.nextChange(person, now));
      if (model.rules.size > 0 && Number.isFinite(due)) expect(due).to.be.above(now);
    }
    const moves = await this.#moves();
    for (const [segment, ids] of members) {
      expect(await memberships.sizes([segment]), `size of ${segment}`).to.deep.equal([ids.length]);
      expect(await memberships.members(segment, undefined, 1_000)).to.include.members(ids);
      const moved = (moves.get(segment) ?? 0) - (this.#movedBefore.get(segment) ?? 0);
      expect(moved, `joined less left of ${segment}`).to.equal(ids.length);
    }
    const { segments } = await catalogue.rules();
    expect(segments.filter(({ byRule }) => byRule.computing !== undefined)).to.deep.equal([]);
  }

  /** Whether the instants of due times are whole days while they are more than a day ahead. */
  async expectDaysOnly(): Promise<void> {
    for (const person of this.model.people) {
      const { due } = await this.stored(person);
      if (due !== undefined && due > this.now + DAY) expect(due % DAY).to.equal(0);
    }
  }
}

/** Adds a test of a random history for each of `count` seeds, over stores of its own. */
export function randomHistories(
  title: string,
  count: number,
  live: (world: RuleWorld, seed: number) => Promise<void>,
): void {
  const first = Number(process.env.RULE_SEED ?? 1);
  const last = first + Number(process.env.RULE_HISTORIES ?? count);
  for (let seed = first; seed < last; seed += 1) {
    it(`${title} ${seed}`, async function () {
      this.timeout(600_000);
      const open = await openTemporaryStores();
      await live(new RuleWorld(open), seed);
    });
  }
}

/** Numbers that the seed decides (mulberry32). */
export function randomOf(seed: number) {
  let state = seed * 0x9e3779b9;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const chance = (share: number) => next() < share;
  return {
    chance,
    whole: (from: number, to: number) => from + Math.floor(next() * (to - from + 1)),
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T,
    some: <T>(list: readonly T[]): T[] => list.filter(() => chance(0.4)),
  };
}
