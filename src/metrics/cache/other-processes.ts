import { groupedCalls } from "../../async/grouped-calls.js";
import { withTimeLimit } from "../../async/time-limit.js";
import type { EpochNumbers, SharedEpochs } from "../ports.js";

/** The shared numbers are read this often, ms, and a read may take so long before another one is tried. */
const READ_EVERY_MS = 400;
const LONGEST_READ_MS = 1_000;

/** What a read says is relied on for so long from its start, ms. */
const RELIED_ON_MS = 900;

/** A writer answers without waiting until the end of its write is announced, unless the write took so long, ms. */
const SOON_MS = 3_000;

export interface OtherProcessesParts {
  readonly shared: SharedEpochs;
  /**
   * How long a write may be under way, ms. One that is not ended by then belongs to a process that has died: what it left behind is counted as ended.
   */
  readonly writeLifeMs: number;
  /** How long a write waits for its turn to be announced, ms. */
  readonly deadlineMs: number;
}

/** What a store may add to its own deadline before a write is there or never will be, ms. */
const WRITE_MARGIN_MS = 2_000;

/** Other processes that may write the same series; undefined where this one has them, or the profiles, for itself. */
export function othersOver(
  { sharedEpochs, exclusive }: { readonly sharedEpochs?: SharedEpochs | undefined; readonly exclusive: boolean },
  deadlineMs: number,
): OtherProcesses | undefined {
  if (sharedEpochs === undefined || exclusive) return undefined;
  return new OtherProcesses({ shared: sharedEpochs, writeLifeMs: deadlineMs + WRITE_MARGIN_MS, deadlineMs });
}

/**
 * Writes of all processes over the same stores, by index of their epoch. A writer adds to the shared numbers before it writes and after it, every process reads
 * them: so each process knows of every write within a second, or knows that what it has read is out of date. Writes of this process are among them.
 */
export class OtherProcesses {
  readonly #shared: SharedEpochs;
  readonly #writeLifeMs: number;
  readonly #announce: (adding: readonly Adding[]) => Promise<void>;
  #raise: (at: readonly number[]) => void = () => {};
  #version = 0;
  readonly #begun = new Map<number, number>();
  readonly #ended = new Map<number, number>();
  /** Since when (ms of `performance.now`) the numbers at an index have said that writes are under way. */
  readonly #open = new Map<number, number>();
  /** By how much more writes have begun than ended where processes have died. */
  readonly #dead = new Map<number, number>();
  #knownAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor({ shared, writeLifeMs, deadlineMs }: OtherProcessesParts) {
    this.#shared = shared;
    this.#writeLifeMs = writeLifeMs;
    // Concurrent writes share one update.
    this.#announce = groupedCalls((adding: readonly Adding[]) => this.#add(adding), {
      most: 10_000,
      atOnce: 1,
      deadline: {
        ms: deadlineMs,
        error: () => new Error("The write could not be announced to the other processes in time"),
      },
    });
    void this.#poll();
  }

  /** Calls `raise` with the indexes of writes that have begun or ended. */
  listen(raise: (at: readonly number[]) => void): void {
    this.#raise = raise;
  }

  /** Whether every write that was answered a second or longer before `now` (`performance.now`) is known. */
  isUpToDate(now: number): boolean {
    return now - this.#knownAt <= RELIED_ON_MS;
  }

  /** Whether a write at this index is under way, as far as is known. */
  isWriting(index: number): boolean {
    return this.#open.has(index);
  }

  /** Announces to the other processes that `work` begins, does it, and announces its end. Rejects as it does, and without doing it when its beginning cannot be announced. */
  async whileAnnounced(at: readonly number[], work: () => Promise<void>): Promise<void> {
    await this.#announce([{ at, what: "begun" }]);
    const begunAt = performance.now();
    try {
      await work();
    } finally {
      const announced = this.#announce([{ at, what: "ended" }]);
      // Until then the other processes take nothing from memory, up to the end of the write's life.
      announced.catch(() => {});
      if (performance.now() - begunAt > SOON_MS) await announced;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #add(adding: readonly Adding[]): Promise<void> {
    const more = { begun: new Map<number, number>(), ended: new Map<number, number>() };
    for (const { at, what } of adding) {
      for (const index of at) more[what].set(index, (more[what].get(index) ?? 0) + 1);
    }
    this.#take(await this.#shared.add(more));
  }

  async #poll(): Promise<void> {
    const startedAt = performance.now();
    await withTimeLimit(LONGEST_READ_MS, [], () => this.#read(startedAt)).catch(() => {});
    this.#forgetDead(performance.now());
    if (this.#closed) return;
    const rest = Math.max(0, startedAt + READ_EVERY_MS - performance.now());
    this.#timer = setTimeout(() => void this.#poll(), rest).unref();
  }

  /** A read that comes back late still says what was true when it started. */
  async #read(startedAt: number): Promise<void> {
    const changed = await this.#shared.read(this.#version);
    if (changed !== undefined) {
      this.#take(changed);
      this.#version = changed.version;
    }
    this.#knownAt = Math.max(this.#knownAt, startedAt);
  }

  /** Raises the epochs whose numbers differ from the known ones. */
  #take({ begun, ended }: EpochNumbers): void {
    const raised: number[] = [];
    for (const index of new Set([...begun.keys(), ...ended.keys()])) {
      const [nowBegun, nowEnded] = [begun.get(index) ?? 0, ended.get(index) ?? 0];
      if (nowBegun === (this.#begun.get(index) ?? 0) && nowEnded === (this.#ended.get(index) ?? 0)) continue;
      raised.push(index);
      this.#begun.set(index, nowBegun);
      this.#ended.set(index, nowEnded);
      if (this.#underWay(index) === (this.#dead.get(index) ?? 0)) this.#open.delete(index);
      else this.#open.set(index, performance.now());
    }
    this.#raise(raised);
  }

  #forgetDead(now: number): void {
    for (const [index, since] of this.#open) {
      if (now - since <= this.#writeLifeMs) continue;
      this.#dead.set(index, this.#underWay(index));
      this.#open.delete(index);
      this.#raise([index]);
    }
  }

  /** By how much more writes have begun than ended, those of dead processes among them. */
  #underWay(index: number): number {
    return (this.#begun.get(index) ?? 0) - (this.#ended.get(index) ?? 0);
  }
}

interface Adding {
  readonly at: readonly number[];
  readonly what: keyof EpochNumbers;
}
