import { setImmediate } from "node:timers/promises";
import { singleFlight } from "../async/single-flight.js";
import type { Clock } from "../clock.js";
import type { Ledger } from "./ports.js";

/** Completed requests of a month that the ledger still holds: `deletions.retention` removes the oldest ones. */
export interface MonthCount {
  /** The month in UTC, such as `2025-02`. */
  readonly month: string;
  readonly completed: number;
}

const MONTHS = 12;

/**
 * Maximum age of the counts of the earlier months, ms. They rarely change, and a large ledger takes long to count them.
 */
const EARLIER_MS = 600_000;

/** Returns a function that counts the completed requests of the current month and the 11 before it, oldest first. */
export function completedByMonth(
  ledger: Pick<Ledger, "countCompleted">,
  clock: Clock,
): () => Promise<readonly MonthCount[]> {
  let earlier: { readonly counts: readonly MonthCount[]; readonly at: number; readonly before: number } | undefined;

  async function count(from: number, to: number): Promise<MonthCount> {
    return { month: new Date(from).toISOString().slice(0, 7), completed: await ledger.countCompleted(from, to) };
  }

  return singleFlight(async () => {
    const now = clock();
    const starts = monthStarts(now);
    const current = starts.at(-1) as number;
    if (earlier === undefined || earlier.before !== current || Math.abs(now - earlier.at) > EARLIER_MS) {
      const counts: MonthCount[] = [];
      for (let i = 0; i + 1 < starts.length; i += 1) {
        counts.push(await count(starts[i] as number, starts[i + 1] as number));
        await setImmediate();
      }
      earlier = { counts, at: now, before: current };
    }
    return [...earlier.counts, await count(current, Number.MAX_SAFE_INTEGER)];
  });
}

/** Returns the starts of the months in UTC up to the month of `now`, Unix ms. */
function monthStarts(now: number): number[] {
  const today = new Date(now);
  return Array.from({ length: MONTHS }, (_, i) =>
    Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - MONTHS + 1 + i),
  );
}
