import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { dataFolder } from "../support/data-folder.js";
import { storesOnServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { Life, PAUSE_MS, type Sent, type SharedTable, type Step } from "./shared-life.js";

/** Users as they are shipped, a table with two protected fields, and one in which every message may join. */
const tables: readonly SharedTable[] = [
  {
    name: "user",
    names: ["user_id:a", "user_id:b", "user_id:c", "email:d", "email:e", "_uid:f", "_uid:g", "_uid:h"],
    protected: ["user_id"],
    strongestFirst: ["user_id", "email", "_uid"],
    configured: shippedTable("user"),
  },
  {
    name: "guest",
    names: ["card:a", "card:b", "member:c", "member:d", "member:e", "email:f", "phone:g", "phone:h"],
    protected: ["member", "card"],
    strongestFirst: ["card", "email", "member", "phone"],
    configured: {
      identities: ["phone", "email", "member", "card"],
      protected: ["member", "card"],
      strongest_first: ["card", "email", "member", "phone"],
    },
  },
  {
    name: "visitor",
    names: ["user_id:a", "user_id:b", "email:c", "email:d", "_uid:e", "_uid:f"],
    protected: [],
    strongestFirst: ["_uid", "user_id", "email"],
    configured: { identities: ["_uid", "user_id", "email"], protected: [] },
  },
];

function shippedTable(name: string): object {
  const path = new URL("../../config/tables.json", import.meta.url);
  const shipped = JSON.parse(readFileSync(path, "utf8")) as readonly { readonly name: string }[];
  return shipped.find((table) => table.name === name) as object;
}

const PLACEHOLDERS = ["null", " Undefined ", "(null)", "0", "[object Object]", "00000000-0000-0000-0000-000000000000"];

/** Ways to split the messages of neighbouring steps into requests. */
const splits = ["each step", "each message", "all together"] as const;

interface History {
  readonly table: SharedTable;
  readonly steps: readonly Step[];
  readonly restartsAfter: number | undefined;
}

const who = fc.nat(7);

function seldom<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 11, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

/** Half a pause, so no event time is near the cut-off of a deletion. */
const HALF_MS = PAUSE_MS / 2;
const aheadMs = fc.constantFrom(0, 0, 0, 0, -HALF_MS, HALF_MS);

const sent: fc.Arbitrary<Sent> = fc.record({
  who: fc.uniqueArray(who, { minLength: 1, maxLength: 4, size: "max" }),
  joins: fc.constantFrom(false, false, false, false, true),
  aheadMs,
  placeholder: seldom(fc.constantFrom(...PLACEHOLDERS)),
});

const deletion = fc.record({ kind: fc.constant("delete" as const), who });
const send = (most: number) =>
  fc.record({
    kind: fc.constant("send" as const),
    messages: fc.array(sent, { minLength: 1, maxLength: most }),
  });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: send(3) },
  { weight: 3, arbitrary: deletion },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("together" as const),
      requests: fc.array(fc.oneof({ weight: 4, arbitrary: send(2) }, { weight: 1, arbitrary: deletion }), {
        minLength: 2,
        maxLength: 3,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("alias" as const), who, previous: who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("repeat" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: "pass" as const }, { kind: "look" as const }) },
);

const histories: fc.Arbitrary<History> = fc.record({
  table: fc.constantFrom(...tables),
  steps: fc.array(step, { minLength: 6, maxLength: 16, size: "max" }),
  restartsAfter: seldom(fc.integer({ min: 1, max: 8 })),
});

/** A service with these tables, or two of them on servers, whose clock only this world moves on. */
export class SharedWorld {
  readonly #dir = dataFolder();
  #services: TestService[] = [];
  #aheadMs = 0;
  #lives = 0;
  #requests = 0;

  readonly clock = (): number => Date.now() + this.#aheadMs;

  async open(): Promise<void> {
    const tables_file = join(this.#dir, "tables.json");
    writeFileSync(tables_file, JSON.stringify(tables.map(({ name, configured }) => ({ name, ...configured }))));
    const options = { dir: this.#dir, clock: this.clock };
    this.#services = [await startService({ tables_file }, options)];
    if (storesOnServers) this.#services.push(await startService({ tables_file }, options));
  }

  async close({ keep } = { keep: false }): Promise<void> {
    const [first, ...others] = this.#services;
    for (const other of others) await other.stop({ keep: true });
    await first?.stop({ keep });
  }

  /** The next service in turn. */
  get service(): TestService {
    this.#requests += 1;
    return this.#services[this.#requests % this.#services.length] as TestService;
  }

  pass(ms: number): void {
    this.#aheadMs += ms;
  }

  /** A property over histories; each is lived with every split, at the same time. */
  readonly onePersonIsOnePerson = fc.asyncProperty(histories, async ({ table, steps, restartsAfter }) => {
    const lives = splits.map((split) => {
      this.#lives += 1;
      return { life: new Life(this, table, `-${this.#lives}`), steps: splitInto(split, steps) };
    });
    const live = async (from: number, to?: number) => {
      const parts = lives.map(({ life, steps: own }) => life.take(own.slice(from, to)));
      await allSettled(parts);
    };
    await live(0, restartsAfter);
    if (restartsAfter !== undefined) {
      await this.close({ keep: true });
      await this.open();
      await live(restartsAfter);
    }
    await allSettled(lives.map(({ life }) => life.end()));
  });
}

/** Waits for all, so that no failed run disturbs the next one; then rejects with the first failure. */
async function allSettled(parts: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(parts)) if (result.status === "rejected") throw result.reason;
}

function splitInto(split: (typeof splits)[number], steps: readonly Step[]): readonly Step[] {
  if (split === "each step") return steps;
  const result: Step[] = [];
  for (const one of steps) {
    const last = result.at(-1);
    if (one.kind !== "send") result.push(one);
    else if (split === "each message")
      result.push(...one.messages.map((sent): Step => ({ kind: "send", messages: [sent] })));
    else if (last?.kind === "send")
      result.splice(-1, 1, { kind: "send", messages: [...last.messages, ...one.messages] });
    else result.push(one);
  }
  return result;
}
