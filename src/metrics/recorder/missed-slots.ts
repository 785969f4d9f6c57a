import type { Meters } from "../../meters.js";
import type { Dimension } from "../dimensions/dimension.js";

/** Hears of slots that have passed without a sample of the dimension, though a recorder was there. */
export type CountMissed = (dimension: Dimension, slots: number) => void;

/** Counts the slots that recorders of these dimensions miss, for `/metrics`. */
export function countMissed(dimensions: readonly Dimension[], meters: Pick<Meters, "counter">): CountMissed {
  const missed = meters.counter(
    "recorder_slots_missed_total",
    "Slots that passed without a sample though this process was there to take it, by dimension.",
    "dimension",
  );
  // Shown from the start, so that a rule sees the first one that is missed.
  for (const { name, sampling } of dimensions) if (sampling !== undefined) missed(0, name);
  return ({ name }, slots) => missed(slots, name);
}

/** Watches the slots of one dimension go by. */
export class SlotWatch {
  readonly #dimension: Dimension;
  readonly #missed: CountMissed;
  #slot: number | undefined;
  #settled = false;

  constructor(dimension: Dimension, missed: CountMissed) {
    this.#dimension = dimension;
    this.#missed = missed;
  }

  /** A slot has begun, Unix ms: those before it that were not settled were missed. None when the clock was set back. */
  enter(slot: number): void {
    if (this.#slot !== undefined) {
      const passed = (slot - this.#slot) / this.#dimension.slotMs;
      this.#missed(this.#dimension, Math.max(0, passed - (this.#settled ? 1 : 0)));
    }
    this.#slot = slot;
    this.#settled = false;
  }

  /** The slot was sampled, or another recorder works on it. */
  settle(): void {
    this.#settled = true;
  }
}
