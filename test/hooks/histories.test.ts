import fc from "fast-check";
import { resetSegments } from "../../src/hooks/reset-segments.js";
import {
  type HookReceiver,
  type HookTrouble,
  hookReceiver,
  isApart,
  textsOf,
  type Values,
} from "../support/hook-receiver.js";
import { amount } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const pushed = ["a", "b", "c"];
const segments = [...pushed, "paid", "timed"];
const HOUR = 3_600_000;

type Step =
  | {
      readonly kind: "collect";
      readonly people: readonly (readonly string[])[];
      readonly add: string[];
      readonly remove: string[];
      readonly plan: string;
      readonly hours: number;
    }
  | { readonly kind: "delete"; readonly who: readonly [string, string] }
  | { readonly kind: "delete segment"; readonly segment: string }
  | { readonly kind: "rule"; readonly plan: string }
  | { readonly kind: "hours"; readonly hours: number }
  | { readonly kind: "trouble"; readonly trouble: HookTrouble | undefined; readonly delayMs: number }
  | { readonly kind: "reset"; readonly segment: string }
  | { readonly kind: "restart" }
  | { readonly kind: "quiet" };

const email = fc.nat(3).map((n) => ["email", `p${n}@example.org`]);
const user = fc.nat(3).map((n) => ["user_id", `u${n}`]);
const device = fc.nat(2).map((n) => ["_uid", `d${n}`]);
const person = fc.oneof(email, user, device).map((identity) => [identity[0] as string, identity[1] as string] as const);
const people = fc.uniqueArray(person, { minLength: 1, maxLength: 2, selector: ([field]) => field });
const some = fc.uniqueArray(fc.constantFrom(...pushed), { maxLength: 2 });
const plan = fc.constantFrom("pro", "free");

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("collect" as const),
      people,
      add: some,
      remove: some,
      plan,
      hours: fc.integer({ min: -1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("delete" as const),
      who: person.map(([f, v]) => [f, v] as [string, string]),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("delete segment" as const), segment: fc.constantFrom(...pushed) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rule" as const), plan }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("hours" as const), hours: fc.integer({ min: 1, max: 2 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("trouble" as const),
      trouble: fc.constantFrom<HookTrouble | undefined>(
        undefined,
        "refuses",
        "resets",
        "redirects",
        "takes and refuses",
        "takes and resets",
      ),
      delayMs: fc.constantFrom(0, 0, 200),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("reset" as const), segment: fc.constantFrom(...segments) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "quiet" as const }) },
);

describe("a receiver that knows the events of a hook alone", function () {
  this.timeout(process.env.HOOK_HISTORIES === undefined ? 600_000 : 0);

  it("P41: knows the members of each segment at every quiet moment of random histories", async () => {
    const history = fc.array(step, { minLength: 30, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const life = await Life.begin();
        try {
          for (const one of steps) await life.take(one);
          await life.take({ kind: "quiet" });
        } finally {
          await life.end();
        }
      }),
      { numRuns: Number(process.env.HOOK_HISTORIES ?? amount(8, 3)), endOnFailure: true },
    );
  });
});

/** One service with a hook, and its receiver. */
class Life {
  #now = Date.UTC(2026, 5, 1);
  readonly #began = performance.now();
  #service!: TestService;
  readonly #receiver: HookReceiver;

  private constructor(receiver: HookReceiver) {
    this.#receiver = receiver;
  }

  static async begin(): Promise<Life> {
    const receiver = await hookReceiver((segment) => life.#members(segment));
    const life: Life = new Life(receiver);
    life.#service = await life.#start();
    await life.#put("paid", { attribute: "plan", is: "pro" });
    await life.#put("timed", { attribute: "until", after: "now" });
    return life;
  }

  async end(): Promise<void> {
    await this.#service.stop();
    await this.#receiver.close();
  }

  #clock = () => this.#now + performance.now() - this.#began;

  #start(dir?: string): Promise<TestService> {
    const hooks = [{ name: "crm", url: this.#receiver.url, token: "t", segments: ["*"] }];
    return startService({ hooks } as never, {
      clock: this.#clock,
      recorderTickMs: 50,
      ...(dir === undefined ? {} : { dir }),
    });
  }

  async #put(id: string, rule: object): Promise<void> {
    await this.#service.fetch(`/api/segment/${id}`, { method: "PUT", json: { name: id, table: "user", rule } });
  }

  async take(step: Step): Promise<void> {
    if (step.kind === "collect") {
      const { people, add, remove, plan, hours } = step;
      const message = {
        ...Object.fromEntries(people as never),
        plan,
        until: new Date(this.#clock() + hours * HOUR).toISOString(),
        segments: { add, remove: remove.filter((id) => !add.includes(id)) },
      };
      await this.#service.fetch("/collect/json/web", { method: "POST", json: [message] });
    }
    if (step.kind === "delete")
      await this.#service.fetch(`/api/entity/user/${step.who.join("/")}`, { method: "DELETE" });
    if (step.kind === "delete segment") await this.#service.fetch(`/api/segment/${step.segment}`, { method: "DELETE" });
    if (step.kind === "rule") await this.#put("paid", { attribute: "plan", is: step.plan });
    if (step.kind === "hours") this.#now += step.hours * HOUR;
    if (step.kind === "trouble") Object.assign(this.#receiver, { trouble: step.trouble, delayMs: step.delayMs });
    if (step.kind === "reset")
      await resetSegments(this.#service.service.stores.outbox, "crm", new Set([step.segment]), this.#clock());
    if (step.kind === "restart") {
      await this.#service.stop({ keep: true });
      this.#service = await this.#start(this.#service.dir);
    }
    if (step.kind === "quiet") await this.#isRight();
  }

  async #isRight(): Promise<void> {
    Object.assign(this.#receiver, { trouble: undefined, delayMs: 0 });
    let last = "";
    await until(
      "the receiver knows the members",
      async () => {
        last = await this.#difference();
        return last === "";
      },
      40_000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}: ${last}`);
    });
  }

  /** Returns what is not quiet, or what the receiver does not know; empty if it is right. */
  async #difference(): Promise<string> {
    const [hook] = (await this.#json("/api/hook")) as { waiting: number }[];
    if (hook?.waiting !== 0) return `waiting ${JSON.stringify(hook)}`;
    const open = (await this.#json("/api/deletion")) as object[];
    if (open.length > 0) return `open ${JSON.stringify(open)}`;
    for (const segment of segments) {
      const members = (await this.#members(segment)).map(textsOf);
      const known = this.#receiver.members(segment).map((texts) => new Set(texts));
      const isOne = members.every((member) => known.filter((other) => !isApart(member, other)).length === 1);
      if (isOne && members.length === known.length) continue;
      const shown = (sets: readonly Set<string>[]) => JSON.stringify(sets.map((set) => [...set]));
      return `${segment}: members ${shown(members)}, known ${shown(known)}, events ${JSON.stringify(
        this.#receiver
          .events()
          .filter((e) => e.segment === segment)
          .map(({ change, identities }) => [change, identities]),
      )}`;
    }
    return "";
  }

  async #members(segment: string): Promise<Values[]> {
    const response = await this.#service.fetch(`/api/segment/${segment}/members`, { method: "POST" });
    if (response.status === 404) return [];
    const lines = (await response.text()).trim().split("\n");
    return lines.slice(0, -1).map((line) => JSON.parse(line).identities as Values);
  }

  async #json(path: string): Promise<unknown> {
    return ((await (await this.#service.fetch(path)).json()) as { data: unknown }).data;
  }
}
