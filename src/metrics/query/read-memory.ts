import { ServiceError } from "../../errors.js";
import { costOf, type SeriesPlan } from "./series-plan.js";

/** What one read takes of the memory, until its response is out or its caller has gone. */
export interface Reading {
  /** Takes bytes. Throws when there is not enough, or the caller has gone. */
  take(bytes: number): void;
  /** Gives some of them back before the read is over. */
  give(bytes: number): void;
  /** Throws when the caller has gone. */
  refuseIfOver(): void;
}

/** The memory that reads under way may take, all of them together. */
export class ReadMemory {
  readonly #most: number;
  #taken = 0;

  /** `most` is in bytes. A read that is the only one under way may take more. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes that reads under way take now, by estimate. */
  get taken(): number {
    return this.#taken;
  }

  /** The account of one read. `whenOver` calls back once, when the response is out or the caller has gone. */
  open(whenOver: (then: () => void) => void): Reading {
    let own = 0;
    // Undefined until something is taken: most answers come from memory and take nothing.
    let isOver: boolean | undefined;

    const add = (bytes: number) => {
      own += bytes;
      this.#taken += bytes;
    };
    const refuseIfOver = () => {
      if (isOver) throw new ServiceError("timed-out", "The caller has gone");
    };
    const end = () => {
      isOver = true;
      add(-own);
    };

    return {
      take: (bytes) => {
        if (isOver === undefined) {
          isOver = false;
          whenOver(end);
        }
        refuseIfOver();
        if (bytes > 0 && this.#taken > own && this.#taken + bytes > this.#most) throw noRoom();
        add(bytes);
      },
      give: (bytes) => {
        if (!isOver) add(-bytes);
      },
      refuseIfOver,
    };
  }
}

function noRoom(): ServiceError {
  return new ServiceError("unavailable", "The reads under way take all the memory that they may; try again", {
    retryAfter: 1,
  });
}

/** Plans that are read and answered together. */
export interface ReadPart {
  readonly plans: readonly SeriesPlan[];
  /** Whether it takes so little time that others need not be let go first. */
  readonly isSmall: boolean;
}

/** What is done at once, in slots: well below 50 ms of work. */
const PART = 300_000;
const SMALL = 20_000;

/** What takes as much time as so many slots. */
const VALUE = 10;
const PLAN = 1_000;

/** A slot as the store hands it out and as it is kept, bytes. */
const SLOT_BYTES = 16;

/** A value in its serialised series and in the body of the answer, usually, bytes. */
const VALUE_BYTES = 80;

/** Cuts work on plans into parts, in order. A plan is never cut. */
export function readParts(plans: readonly SeriesPlan[]): ReadPart[] {
  const parts: SeriesPlan[][] = [];
  let effort = Number.POSITIVE_INFINITY;
  for (const plan of plans) {
    const own = effortOf(plan);
    if (effort + own > PART) {
      parts.push([]);
      effort = 0;
    }
    parts.at(-1)?.push(plan);
    effort += own;
  }
  const isSmall = parts.length === 1 && effort < SMALL;
  return parts.map((plans) => ({ plans, isSmall }));
}

/** What the answers to plans take, by estimate, bytes. One of a series that holds nothing has no more than its empty rows. */
export function answerBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + VALUE_BYTES * (mayHold(plan) ? costOf(plan).values : plan.filled), 0);
}

/** What the slots of plans take while they are read and aggregated, bytes at most. */
export function slotBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + (mayHold(plan) ? SLOT_BYTES * costOf(plan).slots : 0), 0);
}

function effortOf(plan: SeriesPlan): number {
  const { slots, values } = costOf(plan);
  return slots + VALUE * values + PLAN;
}
