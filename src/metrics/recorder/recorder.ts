import { randomUUID } from "node:crypto";
import { type Background, backoff, inBackground } from "../../async/retry.js";
import type { Clock } from "../../clock.js";
import type { Log } from "../../log.js";
import type { Meters } from "../../meters.js";
import { countedSeries } from "../added-counts.js";
import { settledBefore } from "../added-points.js";
import { type Dimension, stream } from "../dimensions.js";
import type { Lease, LeaseResult, SeriesStore, SlotCount, SlotCounts } from "../ports.js";
import { type Series, type SlotColumn, slotStart } from "../series.js";
import { PointFold } from "../slot-columns.js";
import { type SizeDependencies, sizeRecorder } from "./record-sizes.js";

/** Duration of a worker's lease, ms; also the delay after a worker has died. */
const LEASE_MS = 5_000;

const MAINTAIN_EVERY_MS = 3_600_000;

export interface RecorderDependencies extends SizeDependencies {
  readonly dimensions: readonly Dimension[];
  readonly counts: Pick<SlotCounts, "unsaved" | "saved">;
  readonly series: Pick<SeriesStore, "read" | "expire" | "settle">;
  /** Retention of series, ms; undefined: unlimited. */
  readonly retention: number | undefined;
}

/** Writes the service's own measurements. Only one of several recorders over the same stores is active at a time. */
export interface Recorder {
  /**
   * Does the due work, or a bounded part of it; returns true if more is left. A part that fails does not prevent the
   * others; the tick then rejects at the end. A later tick repeats unfinished work.
   */
  tick(): Promise<boolean>;
}

/** Returns a function that takes or renews the lease of this name for an owner of its own. */
export function workerLease(
  { clock, lease }: { readonly clock: Clock; readonly lease: Lease },
  name: string,
  leaseMs = LEASE_MS,
): () => Promise<LeaseResult> {
  const owner = randomUUID();
  return () => {
    const now = clock();
    return lease(name, owner, now, now + leaseMs);
  };
}

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const sizes = dependencies.dimensions.flatMap((dimension) =>
    dimension.sampling === undefined ? [] : [sizeRecorder(dependencies, dimension, dimension.sampling)],
  );
  const maintain = maintainSeries(dependencies);

  return {
    async tick() {
      let more = false;
      const counts = async () => {
        more = await recordCounts(dependencies);
      };
      const errors: unknown[] = [];
      for (const step of [...sizes, counts, maintain]) await step().catch((error: unknown) => errors.push(error));
      if (errors.length > 0) throw errors[0];
      return more;
    },
  };
}

/** Slots per write. */
const BATCH = 500;

/**
 * Saves counts of ended slots that were never saved, or have grown since, however long no recorder ran. One
 * batch; returns true if more may be left.
 */
export async function recordCounts({
  clock,
  counts,
  lease,
  write,
}: Pick<RecorderDependencies, "clock" | "counts" | "lease" | "write">): Promise<boolean> {
  const ended = slotStart(stream, clock());
  if ((await counts.unsaved(ended, 1)).length === 0 || (await lease()) === "refused") return false;
  // Read under the lease, so that they are not older than another recorder's saved counts.
  const unsaved = await counts.unsaved(ended, BATCH);
  if ((await lease()) !== "renewed") return false;
  await write(columnsOf(unsaved));
  await counts.saved(unsaved);
  return unsaved.length === BATCH;
}

function columnsOf(counts: readonly SlotCount[]): SlotColumn[] {
  const series = new Map<string, Series>(counts.map(({ stream: name }) => [name, countedSeries(name)] as const));
  const fold = new PointFold();
  for (const { stream: name, slot, count } of counts) fold.add(series.get(name) as Series, slot, count);
  return fold.columns();
}

/** Removes slots that are older than the retention, and settles those to which no point is added any more. */
function maintainSeries({ clock, series, retention }: RecorderDependencies): () => Promise<void> {
  let maintainedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock();
    if (Math.abs(now - maintainedAt) < MAINTAIN_EVERY_MS) return;
    if (retention !== undefined) await series.expire(now - retention);
    await series.settle(settledBefore(now));
    maintainedAt = now;
  };
}

/** Maximum pause after failed ticks, ms. */
const MAX_WAIT_MS = 5_000;

/** Ticks the recorder every `tickMs` until stopped, never two at once, and immediately again while more is left. */
export function runRecorder(recorder: Recorder, tickMs: number, log: Log, name = "the recorder"): Background {
  let failedTicks = 0;

  /** Resolves with the pause after the tick, ms. */
  async function tick(): Promise<number> {
    try {
      const more = await recorder.tick();
      failedTicks = 0;
      return more ? 0 : tickMs;
    } catch (error) {
      failedTicks += 1;
      log.error({ err: error, failures: failedTicks }, `${name} failed; retrying`);
      return Math.max(tickMs, backoff(failedTicks + 1, tickMs, MAX_WAIT_MS));
    }
  }

  return inBackground(tick);
}

/** Wraps a recorder to export its lag for `/metrics`: seconds since it last had no work left. */
export function watchRecorder(recorder: Recorder, clock: Clock, meters: Pick<Meters, "gauge">): Recorder {
  let upToDate = clock();
  meters.gauge("recorder_lag_seconds", "Seconds since the recorder last had nothing left to do.", () =>
    Math.max(0, (clock() - upToDate) / 1000),
  );
  return {
    async tick() {
      const more = await recorder.tick();
      if (!more) upToDate = clock();
      return more;
    },
  };
}
