import { weightedBatches } from "../../async/weighted-batches.js";
import { NO_SOURCE } from "../../metrics/added-points.js";
import { type SeriesWindow, settingSources, slotsIn } from "../../metrics/ports.js";
import {
  type AddedPoint,
  type AddedPoints,
  type Series,
  type SlotColumn,
  seriesKey,
  slotStart,
} from "../../metrics/series.js";
import { columnSince } from "../../metrics/slot-columns.js";
import type {
  Part,
  PartSource,
  PartTarget,
  ProfileSource,
  ProfileTarget,
  SeriesSource,
  SeriesTarget,
} from "../../stores/copy.js";
import { Progress } from "../progress.js";
import { Checksum, type Comparison, type Summary } from "./comparison.js";

/** Deletions first, so that a deletion is known before data of its entity can be read. */
const parts: readonly Part[] = [
  "deletions",
  "erased identities",
  "entity keys",
  "entities",
  "identities",
  "history",
  "lasting message ids",
  "stream counts",
  "streams",
  "segments",
  "deleted segments",
  "experiences",
  "marks",
  "API keys",
  "repeatable requests",
  "repeatable deletions",
];

/** Copies every part into an empty target and calls `onBatch` after each durable batch. */
export async function copyProfiles(source: ProfileSource, target: ProfileTarget, onBatch: () => void): Promise<void> {
  for (const part of parts) {
    const { from, to } = ends(source, target, part);
    const progress = new Progress(part, { unit: "record", total: await from.count() });
    let done = 0;
    for await (const records of from.all()) {
      await to.add(records);
      onBatch();
      done += records.length;
      progress.update(done);
    }
    progress.finish();
  }
  await target.setFacts(source.facts);
}

/** Reads every part again on both sides and compares them. */
export async function compareProfiles(source: ProfileSource, target: ProfileTarget): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  const counts = await Promise.all(parts.map((part) => source.parts[part].count()));
  const progress = new Progress("profiles compared", { unit: "record", total: counts.reduce((a, b) => a + b) });
  let done = 0;
  for (const part of parts) {
    const { from, to } = ends(source, target, part);
    const ofTarget = await summaryOf(to, (count) => progress.update(done + count));
    const ofSource = await summaryOf(from, () => {}, to.documentOf);
    comparisons.push({ part, source: ofSource, target: ofTarget });
    done += ofTarget.count;
  }
  progress.finish();
  const facts = summaryOfRecord(await target.facts());
  return [...comparisons, { part: "single facts", source: summaryOfRecord(source.facts), target: facts }];
}

/** Returns both ends of a part. Their record types agree, but the compiler cannot check that in a loop. */
function ends(source: ProfileSource, target: ProfileTarget, part: Part) {
  return { from: source.parts[part] as PartSource, to: target.parts[part] as PartTarget };
}

function summaryOfRecord(record: unknown): Summary {
  const checksum = new Checksum();
  checksum.addRecord(record);
  return checksum.summary;
}

async function summaryOf(
  { all }: Pick<PartSource, "all">,
  onBatch: (count: number) => void,
  formOf: (record: unknown) => unknown = (record) => record,
) {
  const checksum = new Checksum();
  for await (const records of all()) {
    for (const record of records) checksum.addRecord(formOf(record));
    onBatch(checksum.summary.count);
  }
  return checksum.summary;
}

/** Slots per write: below the limit of a server's request. */
const WRITE_SLOTS = 50_000;

/**
 * Copies every saved slot of each value source from `since` (Unix ms) on and calls `onBatch` after each durable batch.
 * The sum of a settled slot becomes one added point; the added points of other slots are copied. Resolves with the
 * number of skipped older slots. Safe to repeat.
 */
export async function copySeries(
  source: SeriesSource,
  target: SeriesTarget,
  since: number,
  onBatch: () => void,
): Promise<number> {
  const progress = new Progress("series", { unit: "slot", total: allSlots(source) });
  let done = 0;
  let older = 0;
  for (const windows of source.windows()) {
    for (const valueSource of [...settingSources, "added"] as const) {
      const read = valueSource === "added" ? settledPart(windows, source) : windows;
      const columns = columnsOf(read, await source.series.read(read, valueSource));
      const recent = columns.map((column) => columnSince(column, since));
      columns.forEach((column, i) => {
        older += savedIn(column.values) - savedIn((recent[i] as SlotColumn).values);
      });
      for (const batch of batches(recent)) {
        if (valueSource === "added") await target.series.add(batch.map(sumPoints));
        else await target.series.write(valueSource, batch);
        onBatch();
        progress.update(done + slotsInColumns(batch));
      }
    }
    done += slotsOf(windows);
    progress.update(done);
  }
  for (const added of source.added()) {
    await target.series.add(addedSince(added, since));
    onBatch();
  }
  progress.finish();
  return older;
}

/** Reads all copied data again on both sides and compares it. */
export async function compareSeries(source: SeriesSource, target: SeriesTarget, since: number): Promise<Comparison[]> {
  const progress = new Progress("series compared", { unit: "slot", total: allSlots(source) });
  const sums = { source: new Checksum(), target: new Checksum() };
  const points = { source: new Checksum(), target: new Checksum() };
  let done = 0;
  for (const all of source.windows()) {
    const windows = all.map((window) => windowSince(window, since)).filter(({ from, to }) => from < to);
    for (const end of ["source", "target"] as const) {
      for (const valueSource of [...settingSources, "added"] as const) {
        const read = valueSource === "added" ? settledPart(windows, source) : windows;
        const columns = await { source, target }[end].series.read(read, valueSource);
        read.forEach(({ series, from }, i) => {
          const values = columns[i] as Float64Array;
          const saved = savedIn(values);
          if (saved > 0) sums[end].addValues(`${valueSource}\0${seriesKey(series)}\0${from}`, values, saved);
        });
      }
    }
    for (const part of openParts(windows, source)) await target.eachAdded(part, pointsTo(points.target));
    done += slotsOf(all);
    progress.update(done);
  }
  for (const added of source.added()) {
    const take = pointsTo(points.source);
    for (const { series, points } of addedSince(added, since)) for (const point of points) take(series, point);
  }
  progress.finish();
  return [
    { part: "saved points", source: sums.source.summary, target: sums.target.summary },
    { part: "added points", source: points.source.summary, target: points.target.summary },
  ];
}

/** Returns the function that adds points to a checksum. */
function pointsTo(checksum: Checksum): (series: Series, point: AddedPoint) => void {
  return (series, { ms, ns, source, value }) => checksum.addRecord([seriesKey(series), ms, ns, source, value]);
}

/** Returns the sums of settled slots as points, one at the start of each slot. */
function sumPoints({ series, from, values }: SlotColumn): AddedPoints {
  const { slotMs } = series.dimension;
  const points = Array.from(values, (value, i) => ({ ms: from + i * slotMs, ns: 0, source: NO_SOURCE, value }));
  return { series, points: points.filter(({ value }) => !Number.isNaN(value)) };
}

/** Returns the points of slots that start at `since` (Unix ms) or after. */
function addedSince(added: readonly AddedPoints[], since: number): AddedPoints[] {
  return added
    .map(({ series, points }) => ({
      series,
      points: points.filter(({ ms }) => slotStart(series.dimension, ms) >= since),
    }))
    .filter(({ points }) => points.length > 0);
}

/** Returns the parts of windows whose slots are settled. */
function settledPart(windows: readonly SeriesWindow[], { settled }: Pick<SeriesSource, "settled">): SeriesWindow[] {
  return windows
    .map(({ series, from, to }) => ({ series, from, to: Math.min(to, firstSlot(series, settled)) }))
    .filter(({ from, to }) => from < to);
}

/** Slots of each series whose added points are read at once. */
const OPEN_SLOTS = 6;

/** Yields the parts of windows, which are of one dimension and time, whose slots are not settled. */
function* openParts(
  windows: readonly SeriesWindow[],
  { settled }: Pick<SeriesSource, "settled">,
): Iterable<SeriesWindow[]> {
  const [window] = windows;
  if (window === undefined) return;
  const length = OPEN_SLOTS * window.series.dimension.slotMs;
  for (let from = Math.max(window.from, firstSlot(window.series, settled)); from < window.to; from += length)
    yield windows.map(({ series, to }) => ({ series, from, to: Math.min(to, from + length) }));
}

/** Returns the start of the first slot that starts at an instant (Unix ms) or after. */
function firstSlot({ dimension: { slotMs } }: Series, ms: number): number {
  return Math.ceil(ms / slotMs) * slotMs;
}

function allSlots(source: SeriesSource): number {
  let slots = 0;
  for (const windows of source.windows()) slots += slotsOf(windows);
  return slots;
}

function slotsOf(windows: readonly SeriesWindow[]): number {
  return windows.reduce((slots, window) => slots + slotsIn(window), 0);
}

function columnsOf(windows: readonly SeriesWindow[], values: readonly Float64Array[]): SlotColumn[] {
  return windows.map(({ series, from }, i) => ({ series, from, values: values[i] as Float64Array }));
}

function windowSince({ series, from, to }: SeriesWindow, since: number): SeriesWindow {
  return { series, from: Math.max(from, firstSlot(series, since)), to };
}

function savedIn(values: Float64Array): number {
  let count = 0;
  for (const value of values) if (!Number.isNaN(value)) count += 1;
  return count;
}

function slotsInColumns(columns: readonly SlotColumn[]): number {
  return columns.reduce((sum, { values }) => sum + values.length, 0);
}

/** Yields the columns with values in batches. */
function batches(columns: readonly SlotColumn[]): Iterable<SlotColumn[]> {
  const saved = columns.filter(({ values }) => savedIn(values) > 0);
  return weightedBatches(saved, WRITE_SLOTS, ({ values }) => values.length);
}
