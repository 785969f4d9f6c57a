import { expect } from "chai";
import fc from "fast-check";
import type { Stores } from "../../src/stores/stores.js";
import { ErasureModel } from "../support/erasure-model.js";
import type { Operation, Request, SentMessage, Shown } from "../support/erasure-worlds.js";
import { HeldCalls } from "../support/held-calls.js";
import { holdersOf } from "../support/holders.js";
import { openProcess, type Process, type Seen, virtualClock } from "./erasure-world.js";
import { MembershipModel } from "./membership-model.js";

interface Said {
  readonly who: readonly number[];
  /** The event time that it names against now, ms; 0: it names none. */
  readonly ahead: number;
}

type Short =
  | { readonly kind: "collect"; readonly said: Said }
  | { readonly kind: "replay"; readonly which: number }
  | { readonly kind: "delete"; readonly who: number }
  | { readonly kind: "deleteSegment"; readonly which: number }
  | { readonly kind: "run"; readonly which: number };

/**
 * Work that is held at a call, or dies there, while other things happen. A request that died is repeated under its
 * idempotency key after some more.
 */
interface Slow<Kind = "held" | "dies"> {
  readonly kind: Kind;
  readonly work: Short;
  readonly calls: number;
  readonly meanwhile: readonly Short[];
  readonly beforeRepeat: readonly Short[];
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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("deleteSegment" as const), which: fc.nat(SEGMENTS - 1) }) },
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
      beforeRepeat: fc.array(short, { maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ kind: "sweep" }, { kind: "restart" }),
  },
);

/** Lead of the clock of a process, ms. */
const ahead = fc.oneof(
  fc.constantFrom(0, 900, -900, 10_000, -10_000, 600_000, -600_000),
  fc.integer({ min: -600_000, max: 600_000 }),
);

/**
 * A property over histories of writing, erasing and reading through two processes whose clocks differ, and how many
 * steps were taken in all of its runs.
 */
export function erasedStayErased(stores: Stores) {
  let steps = 0;
  let lives = 0;
  const histories = fc.array(step, { minLength: 20, maxLength: 60 });
  const property = fc.asyncProperty(histories, fc.tuple(ahead, ahead), async (history, clocks) => {
    lives += 1;
    const life = new Life(stores, `-${lives}`, clocks);
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
  readonly #suffix: string;
  readonly #process: AheadProcess;
  /** Another process, which can be held or die. */
  readonly #other: AheadProcess;
  readonly #memberships: MembershipModel;
  #operations = 0;

  constructor(stores: Stores, suffix: string, [ahead, otherAhead]: readonly [number, number]) {
    this.#stores = stores;
    this.#suffix = suffix;
    this.#people = names.map((name) => name + suffix);
    this.#memberships = new MembershipModel((number) => segmentOf(number) + suffix);
    const open = (aheadMs: number, calls?: HeldCalls) => ({
      ...openProcess(stores, () => this.#time.clock() + aheadMs, calls),
      aheadMs,
    });
    this.#process = open(ahead);
    this.#other = open(otherAhead, this.#calls);
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
    const { ledger } = this.#stores;
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
      if (!deletion.hashes.some((hash) => hashes.includes(hash))) continue;
      expect(await holdersOf(this.#stores, deletion.entities)).to.deep.equal([]);
    }
  }

  async #atOnce(one: Short): Promise<void> {
    const work = this.#workOf(one, this.#process);
    if (work === undefined) return;
    await work.run();
    this.#note(work);
    if (work.request !== undefined) this.#model.take([this.#operationOf(work, work.at, true)]);
  }

  /** Holds the work at one of its calls while other work is done; then it continues, or dies there. */
  async #slowly(one: Slow): Promise<void> {
    const work = this.#workOf(one.work, this.#other);
    if (work === undefined) return;
    const until = work.at + PAUSE_MS * (one.meanwhile.length + 1);
    const deletion = this.#note(work, until);
    const held = work.request && this.#operationOf(work, until, false);
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
    if (deletion !== undefined) deletion.isUncertain = !finished;
    this.#calls.revive();
    if (!finished) await this.#process.replay();
    if (held === undefined) return;
    if (finished) return this.#model.answer(held);
    await this.#look({ segments: false });
    const { repeat } = work;
    // Without a repeat it has taken effect by now or never will.
    if (repeat === undefined) return this.#model.settle(({ id }) => id === held.id);
    for (const other of one.beforeRepeat) {
      this.#time.pass(PAUSE_MS);
      await this.#atOnce(other);
      await this.#look({ segments: false });
    }
    this.#time.pass(PAUSE_MS);
    const again = { ...work, at: this.#time.now(), through: this.#process };
    await repeat(again.at);
    this.#note(again);
    this.#model.take([{ ...this.#operationOf(again, again.at, true), repeats: held }]);
  }

  #workOf(one: Short, through: AheadProcess): Work | undefined {
    const at = this.#time.now();
    if (one.kind === "run") return { at, through, run: () => this.#runOne(one.which, through) };
    if (one.kind === "deleteSegment") {
      const segment = segmentOf(one.which) + this.#suffix;
      return { at, through, deletes: segment, run: () => through.deleteSegment(segment) };
    }
    if (one.kind === "delete") {
      const request = { kind: "delete", who: one.who } as const;
      return { at, through, request, run: () => through.delete(this.#people[one.who] as string) };
    }
    const message = one.kind === "collect" ? this.#messageOf(one.said, at) : this.#again(one.which);
    if (message === undefined) return undefined;
    const key = `${this.#suffix} ${this.#operations}`;
    const collect = (process: AheadProcess, arrival: number) =>
      process.collect({
        identities: message.who.map((who) => this.#people[who] as string),
        time: message.time,
        arrival: arrival + process.aheadMs,
        key,
        attribute: [`m${message.number}`, message.number],
        segment: segmentOf(message.number) + this.#suffix,
      });
    return {
      at,
      through,
      request: { kind: "collect", messages: [message] },
      run: () => collect(through, at),
      repeat: (later) => collect(this.#process, later),
    };
  }

  /** Notes when the work changes memberships; returns its deletion of a segment. */
  #note({ at, through, request, deletes }: Work, to = at) {
    const during = { from: at, to };
    if (request?.kind === "collect") for (const message of request.messages) this.#memberships.stated(message, during);
    return deletes === undefined ? undefined : this.#memberships.deleted(deletes, during, through.aheadMs);
  }

  async #runOne(which: number, process: Process): Promise<void> {
    const open = await this.#stores.ledger.list({ state: "open", newestFirst: false, limit: 100 });
    const deletion = open[which % Math.max(1, open.length)];
    if (deletion !== undefined) await process.run(deletion.requestId);
  }

  #messageOf({ who, ahead }: Said, at: number): SentMessage {
    const time = ahead === 0 ? undefined : Math.floor(at + ahead);
    const message = { number: this.#messages.length, who, time, slot: "" };
    this.#messages.push(message);
    return message;
  }

  #again(which: number): SentMessage | undefined {
    return this.#messages[which % Math.max(1, this.#messages.length)];
  }

  #operationOf(
    { at, through, request }: Pick<Work, "at" | "through" | "request">,
    to: number,
    answered: boolean,
  ): Operation {
    if (request === undefined) throw new Error("The work is no request");
    this.#operations += 1;
    const { aheadMs } = through;
    return { id: this.#operations, request, during: { from: at, to }, answered, through: 0, aheadMs };
  }

  /** Reads every identity. Segments follow a profile: while a message is being applied they may lag behind. */
  async #look({ segments } = { segments: true }): Promise<void> {
    const reads: Operation[] = [];
    for (const [who, person] of this.#people.entries()) {
      const shown = this.#shown(await this.#process.read(person), segments);
      const at = this.#time.now();
      reads.push(this.#operationOf({ at, through: this.#process, request: { kind: "read", who, shown } }, at, true));
    }
    this.#model.take(reads);
  }

  #shown(seen: Seen, segments: boolean): Shown {
    if (seen === undefined) return undefined;
    const messages = Object.entries(seen.attributes).map(([name, value]) => {
      expect(name).to.equal(`m${value}`);
      return value;
    });
    if (segments) this.#memberships.check(messages, seen.segments);
    const who = seen.identities.map((identity) => this.#people.indexOf(identity));
    return { who: who.sort((a, b) => a - b), messages: messages.sort((a, b) => a - b) };
  }
}

function segmentOf(number: number): string {
  return `segment-${number % SEGMENTS}`;
}

type AheadProcess = Process & { readonly aheadMs: number };

interface Work {
  readonly at: number;
  readonly through: AheadProcess;
  /** If it changes the results of reads. */
  readonly request?: Request;
  /** The segment that it deletes. */
  readonly deletes?: string;
  run(): Promise<unknown>;
  /** Repeats the request under its key. */
  repeat?(at: number): Promise<unknown>;
}
