import { expect } from "chai";
import fc from "fast-check";
import { dataIdsOf } from "../../src/deletions/deletion.js";
import type { Stores } from "../../src/stores/stores.js";
import { HeldCalls } from "../support/held-calls.js";
import { ErasureModel, type ModelMessage, type Seen, type UnderWay } from "./erasure-model.js";
import { openProcess, virtualClock } from "./erasure-world.js";

interface Said {
  readonly who: readonly number[];
  /** Event time against now, ms; 0 is the arrival itself. */
  readonly ahead: number;
  readonly attribute: readonly [string, number | null];
  readonly segment: string | undefined;
}

type Short =
  | { readonly kind: "collect"; readonly said: Said }
  | { readonly kind: "replay"; readonly which: number }
  | { readonly kind: "delete"; readonly who: number }
  | { readonly kind: "run"; readonly which: number };

/** Work that is held at a call, or dies there, while other things happen. */
interface Slow<Kind = "held" | "dies"> {
  readonly kind: Kind;
  readonly work: Short;
  readonly calls: number;
  readonly meanwhile: readonly Short[];
}

type Step = Short | Slow<"held"> | Slow<"dies"> | { readonly kind: "sweep" } | { readonly kind: "restart" };

const names = ["email:a", "email:b", "user_id:a", "user_id:b"];

const said: fc.Arbitrary<Said> = fc.record({
  who: fc.uniqueArray(fc.nat(names.length - 1), { minLength: 1, maxLength: 3 }),
  ahead: fc.oneof(fc.constant(0), fc.integer({ min: -20_000, max: 20_000 })),
  attribute: fc.tuple(fc.constantFrom("plan", "city"), fc.option(fc.nat(9), { nil: null })),
  segment: fc.option(fc.constantFrom("buyers", "readers"), { nil: undefined }),
});

const short: fc.Arbitrary<Short> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("collect" as const), said }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("replay" as const), which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), who: fc.nat(names.length - 1) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("run" as const), which: fc.nat(3) }) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: short },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("held" as const, "held" as const, "dies" as const),
      work: short,
      calls: fc.nat(25),
      meanwhile: fc.array(short, { maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ kind: "sweep" }, { kind: "restart" }),
  },
);

/** A property over histories of writing, erasing and reading, and how many steps were taken in all of its runs. */
export function erasedStayErased(stores: Stores) {
  let steps = 0;
  let lives = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (history) => {
    lives += 1;
    const life = new Life(stores, `-${lives}`);
    for (const one of history) {
      await life.take(one);
      steps += 1 + ("meanwhile" in one ? one.meanwhile.length : 0);
    }
    await life.end();
  });
  return { property, steps: () => steps };
}

/** One history, with people of its own. */
class Life {
  readonly #model = new ErasureModel();
  readonly #time = virtualClock();
  readonly #calls = new HeldCalls();
  readonly #messages: ModelMessage[] = [];
  readonly #stores: Stores;
  readonly #people: readonly string[];
  readonly #process;
  /** Another process, which can be held or die. */
  readonly #other;

  constructor(stores: Stores, suffix: string) {
    this.#stores = stores;
    this.#people = names.map((name) => name + suffix);
    this.#process = openProcess(stores, this.#time.clock);
    this.#other = openProcess(stores, this.#time.clock, this.#calls);
  }

  async take(one: Step): Promise<void> {
    this.#time.pass(1000);
    if (one.kind === "held" || one.kind === "dies") await this.#slowly(one);
    else if (one.kind === "sweep") await this.#process.erasure.sweep();
    else if (one.kind === "restart") await this.#restart();
    else await this.#atOnce(one);
    await this.#look();
  }

  /** Everything open is run, and nothing is left of erased people. */
  async end(): Promise<void> {
    const { ledger, entities, history, memberships, entityKeys } = this.#stores;
    this.#time.pass(3_600_000);
    // Of several requests over one identity each round completes the first.
    for (let round = 0; (await ledger.countOpen()) > 0 && round < 100; round += 1) {
      this.#time.pass(3_600_000);
      await this.#process.erasure.sweep();
    }
    expect(await ledger.countOpen()).to.equal(0);
    await this.#look();
    const hashes = this.#people.map((person) => this.#process.hashOf(person));
    for (const { deletion } of await ledger.since(0, 1_000_000)) {
      if (!hashes.includes(deletion.identity)) continue;
      const ids = dataIdsOf(deletion);
      for (const port of [entities, history, memberships]) expect(await port.holds(ids)).to.equal(false);
      expect(await entityKeys.holds(deletion.entities)).to.equal(false);
    }
  }

  async #atOnce(one: Short): Promise<void> {
    const work = this.#workOf(one, this.#process);
    if (work === undefined) return;
    await work.run();
    if (work.it?.kind === "collect") this.#model.collect(work.it.message);
    if (work.it?.kind === "delete") this.#model.delete(work.it.identity, work.it.cutOff);
  }

  /** Holds the work at one of its calls while other things happen; then it goes on, or has died there. */
  async #slowly(one: Slow): Promise<void> {
    const work = this.#workOf(one.work, this.#other);
    if (work === undefined) return;
    if (work.it !== undefined) this.#model.start(work.it);
    const reached = this.#calls.hold(one.calls);
    const running = work.run().then(
      () => true,
      () => false,
    );
    await Promise.race([reached, running]);
    for (const other of one.meanwhile) {
      this.#time.pass(1000);
      this.#model.perhaps();
      await this.#atOnce(other);
      this.#model.perhaps();
      await this.#look({ segments: false });
    }
    if (one.kind === "dies") this.#calls.die();
    else this.#calls.release();
    const finished = await running;
    this.#calls.revive();
    this.#model.perhaps();
    if (!finished) await this.#restart();
    this.#model.perhaps();
    if (finished) this.#model.end();
    else this.#model.abandon();
  }

  async #restart(): Promise<void> {
    await this.#process.erasure.replay();
  }

  #workOf(one: Short, process: ReturnType<typeof openProcess>): { it?: UnderWay; run(): Promise<unknown> } | undefined {
    if (one.kind === "collect" || one.kind === "replay") {
      const message = one.kind === "collect" ? this.#messageOf(one.said) : this.#again(one.which);
      if (message === undefined) return undefined;
      this.#messages.push(message);
      return { it: { kind: "collect", message }, run: () => process.collect(message) };
    }
    if (one.kind === "delete") {
      const identity = this.#people[one.who] as string;
      const cutOff = this.#time.now();
      return { it: { kind: "delete", identity, cutOff }, run: () => process.delete(identity, cutOff) };
    }
    return {
      run: async () => {
        const open = await this.#stores.ledger.open({ limit: 100 });
        const deletion = open[one.which % Math.max(1, open.length)];
        if (deletion !== undefined) await process.erasure.run(deletion.requestId);
      },
    };
  }

  #messageOf({ who, ahead, attribute, segment }: Said): ModelMessage {
    const arrival = this.#time.now();
    const identities = who.map((index) => this.#people[index] as string);
    return { identities, time: ahead === 0 ? arrival : Math.floor(arrival + ahead), arrival, attribute, segment };
  }

  #again(which: number): ModelMessage | undefined {
    const message = this.#messages[which % Math.max(1, this.#messages.length)];
    return message && { ...message, arrival: this.#time.now() };
  }

  /** Segments follow a profile: while a message is being applied they may lag behind. */
  async #look({ segments } = { segments: true }): Promise<void> {
    const seen = new Map<string, Seen>();
    for (const person of this.#people) seen.set(person, await this.#process.read(person));
    const expected = this.#model.expected(this.#people);
    if (!this.#model.agrees(seen, segments))
      throw new Error(`Seen: ${JSON.stringify([...seen])}\nExpected one of:\n${expected}`);
  }
}
