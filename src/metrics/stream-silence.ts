import { stream as dimension, HOUR } from "./dimensions.js";
import type { EachColumn, SavedSlots } from "./query/each-column.js";
import { slotStart } from "./series.js";

/** A stream and its messages. */
export interface ArrivedStream {
  readonly id: string;
  /** Arrival of its newest message, Unix ms; undefined if it has only points. */
  readonly lastArrival: number | undefined;
}

/** The newest data of a stream, and whether more is overdue. */
export interface NewestData {
  /**
   * Arrival of its newest message, or the end of the newest slot with a point after it, Unix ms; undefined if it has
   * neither in the last 52 weeks.
   */
  readonly at: number | undefined;
  /** Whether nothing has arrived for 2 hours and for longer than the longest pause of the last 4 weeks. */
  readonly isSilent: boolean;
}

const MIN_PAUSE_MS = 2 * HOUR;
const PAUSES_MS = 28 * 24 * HOUR;
const SEARCHED_MS = 52 * 7 * 24 * HOUR;

interface NewestDataDependencies {
  readonly eachColumn: EachColumn;
  /** Start of the first slot that is kept, Unix ms. */
  readonly firstKept: number;
}

/** Returns the newest data of each stream as of `now`, Unix ms. Reads slots only of quiet streams. */
export async function newestData(
  streams: readonly ArrivedStream[],
  now: number,
  { eachColumn, firstKept }: NewestDataDependencies,
): Promise<NewestData[]> {
  const end = slotStart(dimension, now) + dimension.slotMs;
  const savedOf = async (some: readonly ArrivedStream[], fromMs: number, toMs: number) => {
    const ids = some.map(({ id }) => id);
    const saved = await eachColumn({ dimension, type: "size", ids }, Math.max(firstKept, fromMs), toMs, savedIn);
    return new Map(ids.map((id, i) => [id, saved[i]]));
  };
  const quiet = streams.filter(({ lastArrival }) => lastArrival === undefined || now - lastArrival > MIN_PAUSE_MS);
  const recent = await savedOf(quiet, end - PAUSES_MS, end);
  const old = quiet.filter(({ id, lastArrival }) => lastArrival === undefined && recent.get(id) === undefined);
  const earlier = await savedOf(old, end - SEARCHED_MS, end - PAUSES_MS);
  return streams.map(({ id, lastArrival }) => {
    const slots = recent.get(id);
    const last = slots?.last ?? earlier.get(id)?.last;
    const isPoint = last !== undefined && (lastArrival === undefined || last > lastArrival);
    const at = isPoint ? Math.min(now, last + dimension.slotMs) : lastArrival;
    return { at, isSilent: at === undefined || now - at > (slots?.longestPause ?? MIN_PAUSE_MS) };
  });
}

/**
 * Returns the start of the last saved slot, Unix ms, and the longest time from the start of a saved slot to the end of
 * the next one, ms: a pause in it cannot be longer. Undefined without a saved slot.
 */
function savedIn({ from, values }: SavedSlots): { last: number; longestPause: number } | undefined {
  let last: number | undefined;
  let longestPause = MIN_PAUSE_MS;
  for (const [at, value] of values.entries()) {
    if (Number.isNaN(value)) continue;
    const start = from + at * dimension.slotMs;
    if (last !== undefined) longestPause = Math.max(longestPause, start + dimension.slotMs - last);
    last = start;
  }
  return last === undefined ? undefined : { last, longestPause };
}
