import { expect } from "chai";
import fc from "fast-check";
import type { Stores } from "../../src/stores/stores.js";
import { ErasureModel } from "../support/erasure-model.js";
import type { Operation, Request, SentMessage, Shown } from "../support/erasure-worlds.js";
import { HeldCalls } from "../support/held-calls.js";
import { openProcess, type Process, type Seen, virtualClock } from "./erasure-world.js";

interface Said {
  readonly who: readonly number[];
  /** Event time against now, ms; 0 is the arrival itself. */
  readonly ahead: number;
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

const SEGMENTS = 3;
/** Between two pieces of work, ms of the virtual clock. */
const PAUSE_MS = 1_000;

const names = ["email:a", "email:b", "user_id:a", "user_id:b"];

const said: fc.Arbitrary<Said> = fc.record({
  who: fc.uniqueArray(fc.nat(names.length - 1), { minLength: 1, maxLength: 3 }),
  ahead: fc.oneof(fc.constant(0), fc.integer({ min: -20_000, max: 20_000 })),
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

/** One history, with people of its own. Each message sets an attribute of its own, and adds a segment. */
class Life {
  readonly #model = new ErasureModel();
  readonly #time = virtualClock();
  readonly #calls = new HeldCalls();
  readonly #messages: SentMessage[] = [];
  readonly #stores: Stores;
  readonly #people: readonly string[];
  readonly #process: Process;
  /** Another process, which can be held or die. */
  readonly #other: Process;
  #operations = 0;

  constructor(stores: Stores, suffix: string) {
    this.#stores = stores;
    this.#people = names.map((name) => name + suffix);
    this.#process = openProcess(stores, this.#time.clock);
    this.#other = openProcess(stores, this.#time.clock, this.#calls);
  }

  async take(one: Step): Promise<void> {
    this.#time.pass(PAUSE_MS);
    if (one.kind === "held" || one.kind === "dies") await this.#slowly(one);
    else if (one.kind === "sweep") await this.#process.runDue();
    else if (one.kind === "restart") await this.#process.replay();
    else await this.#atOnce(one);
    await this.#look();
  }

  /** Everything open is run, and nothing is left of erased people. */
  async end(): Promise<void> {
    const { ledger, entities, history, memberships, entityKeys } = this.#stores;
    this.#time.pass(3_600_000);
    // Each round completes the first of several requests over one identity.
    for (let round = 0; (await ledger.count("open")) > 0 && round < 100; round += 1) {
      this.#time.pass(3_600_000);
      await this.#process.runDue();
    }
    expect(await ledger.count("open")).to.equal(0);
    await this.#look();
    const hashes = this.#people.map((person) => this.#process.hashOf(person));
    for (const { deletion } of await ledger.since(0, 1_000_000)) {
      if (!hashes.includes(deletion.identity)) continue;
      const ids = deletion.entities;
      for (const port of [entities, history, memberships]) expect(await port.holds(ids)).to.equal(false);
      expect(await entityKeys.read(deletion.entities)).to.have.property("size", 0);
    }
  }

  async #atOnce(one: Short): Promise<void> {
    const work = this.#workOf(one, this.#process);
    await work?.run();
    if (work?.request !== undefined) this.#model.take([this.#operationOf(work.request, work.at, work.at, true)]);
  }

  /** Holds the work at one of its calls while other work is done; then it continues, or dies there. */
  async #slowly(one: Slow): Promise<void> {
    const work = this.#workOf(one.work, this.#other);
    if (work === undefined) return;
    const until = work.at + PAUSE_MS * (one.meanwhile.length + 1);
    const held = work.request && this.#operationOf(work.request, work.at, until, false);
    if (held !== undefined) this.#model.take([held]);
    const reached = this.#calls.hold(one.calls);
    const running = work.run().then(
      () => true,
      () => false,
    );
    await Promise.race([reached, running]);
    for (const other of one.meanwhile) {
      this.#time.pass(PAUSE_MS);
      await this.#atOnce(other);
      await this.#look({ segments: false });
    }
    if (one.kind === "dies") this.#calls.die();
    else this.#calls.release();
    const finished = await running;
    this.#calls.revive();
    if (!finished) await this.#process.replay();
    if (held === undefined) return;
    if (finished) return this.#model.answer(held);
    // It has taken effect by now or never will.
    await this.#look({ segments: false });
    this.#model.settle(({ id }) => id === held.id);
  }

  /** A step of the work; `request` is the time of the request if it changes the results of reads. */
  #workOf(one: Short, process: Process): { at: number; request?: Request; run(): Promise<unknown> } | undefined {
    const at = this.#time.now();
    if (one.kind === "run") return { at, run: () => this.#runOne(one.which, process) };
    if (one.kind === "delete") {
      const request = { kind: "delete", who: one.who } as const;
      return { at, request, run: () => process.delete(this.#people[one.who] as string, at) };
    }
    const message = one.kind === "collect" ? this.#messageOf(one.said, at) : this.#again(one.which);
    if (message === undefined) return undefined;
    return {
      at,
      request: { kind: "collect", messages: [message] },
      run: () =>
        process.collect({
          identities: message.who.map((who) => this.#people[who] as string),
          time: message.time ?? at,
          arrival: at,
          attribute: [`m${message.number}`, message.number],
          segment: segmentOf(message.number),
        }),
    };
  }

  async #runOne(which: number, process: Process): Promise<void> {
    const open = await this.#stores.ledger.list({ state: "open", newestFirst: false, limit: 100 });
    const deletion = open[which % Math.max(1, open.length)];
    if (deletion !== undefined) await process.run(deletion.requestId);
  }

  #messageOf({ who, ahead }: Said, at: number): SentMessage {
    const time = ahead === 0 ? at : Math.floor(at + ahead);
    const message = { number: this.#messages.length, who, time, slot: "" };
    this.#messages.push(message);
    return message;
  }

  #again(which: number): SentMessage | undefined {
    return this.#messages[which % Math.max(1, this.#messages.length)];
  }

  #operationOf(request: Request, from: number, to: number, answered: boolean): Operation {
    this.#operations += 1;
    return { id: this.#operations, request, during: { from, to }, answered, through: 0 };
  }

  /** Reads every identity. Segments follow a profile: while a message is being applied they may lag behind. */
  async #look({ segments } = { segments: true }): Promise<void> {
    const reads: Operation[] = [];
    for (const [who, person] of this.#people.entries()) {
      const shown = this.#shown(await this.#process.read(person), segments);
      const at = this.#time.now();
      reads.push(this.#operationOf({ kind: "read", who, shown }, at, at, true));
    }
    this.#model.take(reads);
  }

  #shown(seen: Seen, segments: boolean): Shown {
    if (seen === undefined) return undefined;
    const messages = Object.entries(seen.attributes).map(([name, value]) => {
      expect(name).to.equal(`m${value}`);
      return value;
    });
    if (segments) expect(seen.segments).to.deep.equal([...new Set(messages.map(segmentOf))].sort());
    const who = seen.identities.map((identity) => this.#people.indexOf(identity));
    return { who: who.sort((a, b) => a - b), messages: messages.sort((a, b) => a - b) };
  }
}

function segmentOf(number: number): string {
  return `segment-${number % SEGMENTS}`;
}
