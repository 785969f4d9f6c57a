import fc from "fast-check";

/** The event time of a message; numbers are ms from its sending. */
export type MessageTime = "arrival" | "long ago" | number;

export interface PlannedMessage {
  /** From the base of the turn. */
  readonly who: readonly number[];
  readonly time: MessageTime;
}

/** The next request of a client; `through` is the process that receives it. */
export type Step = { readonly through: number } & (
  | { readonly kind: "collect"; readonly messages: readonly PlannedMessage[]; readonly keyed: boolean }
  | { readonly kind: "resend"; readonly which: number }
  | { readonly kind: "delete"; readonly who: number }
  | { readonly kind: "delete again"; readonly which: number }
  | { readonly kind: "read"; readonly who: number }
  | { readonly kind: "status"; readonly which: number }
);

/** Clients that start at once, each with its steps one after the other. */
export interface Turn {
  /** The steps of a turn concern neighbours, so that they meet. */
  readonly base: number;
  readonly clients: readonly (readonly Step[])[];
  /** The process that is killed and started again, and after how many answers of this turn. */
  readonly kill: { readonly process: number; readonly after: number } | undefined;
}

const CLIENTS = 6;
const STEPS = 2;
/** People that a turn is about. */
const NEIGHBOURS = 7;
const TURNS_PER_KILL = 20;
/** The first turn with a kill. */
const KILLED_AT = 10;

const person = fc.nat(NEIGHBOURS - 1);

const message: fc.Arbitrary<PlannedMessage> = fc.record({
  who: fc.uniqueArray(person, { minLength: 1, maxLength: 3 }),
  time: fc.oneof(
    { weight: 6, arbitrary: fc.constant<MessageTime>("arrival") },
    { weight: 2, arbitrary: fc.constant<MessageTime>("long ago") },
    { weight: 2, arbitrary: fc.integer({ min: -2_000, max: 0 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 30_000 }) },
  ),
});

const through = fc.nat(1);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("collect" as const),
      through,
      messages: fc.array(message, { minLength: 1, maxLength: 3 }),
      keyed: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("resend" as const), through, which: fc.nat(50) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("delete" as const), through, who: person }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete again" as const), through, which: fc.nat(5) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("read" as const), through, who: person }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("status" as const), through, which: fc.nat(50) }) },
);

/** Turns of at least so many steps in all, about so many people; the same for the same seed. */
export function plannedHistory(seed: number, steps: number, people: number): readonly Turn[] {
  const turns = Math.ceil(steps / (CLIENTS * STEPS));
  const turn: fc.Arbitrary<Turn> = fc.record({
    base: fc.nat(people - 1),
    clients: fc.array(fc.array(step, { minLength: STEPS, maxLength: STEPS }), {
      minLength: CLIENTS,
      maxLength: CLIENTS,
    }),
    kill: fc.record({ process: through, after: fc.nat(CLIENTS * STEPS - 1) }),
  });
  const planned = fc.sample(turn, { seed, numRuns: turns });
  return planned.map((one, index) => ({ ...one, kill: index % TURNS_PER_KILL === KILLED_AT ? one.kill : undefined }));
}
