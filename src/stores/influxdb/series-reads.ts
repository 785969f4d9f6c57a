import { eachAtOnce } from "../../async/each-at-once.js";
import { ExactSum } from "../../exact-sum.js";
import type { Dimension } from "../../metrics/dimensions.js";
import { type SeriesWindow, slotsIn, type ValueSource } from "../../metrics/ports.js";
import { addSlots, isSum, type Series, seriesKey, slotStart } from "../../metrics/series.js";
import type { TakeAdded } from "../copy.js";
import {
  addedScript,
  FIRST,
  fluxScript,
  groupBy,
  LAST,
  type PlacedWindow,
  type SlotQuery,
  slotQueries,
  sumScript,
} from "./queries.js";
import { addedReader, type RowReader, SlotTarget, slotReader, UNKNOWN_SUM } from "./response-csv.js";

/** Slots of all series that one query sums up. */
const SUMMED_SLOTS = 300_000;

/** Slots of each series whose added points one query reads. */
const ADDED_SLOTS = 48;

/** Concurrent queries of one read. */
const CONCURRENT_QUERIES = 4;

interface SeriesReadDependencies {
  /** Name of the bucket. */
  readonly bucket: string;
  /** Runs a query and passes the rows of its response to a reader; after a temporary error, all of them to another. */
  query(script: string, readerOf: () => RowReader, ...signals: readonly AbortSignal[]): Promise<void>;
  /** Number of ids of a dimension. */
  countIds(dimension: Dimension): Promise<number>;
}

/** Reads series in a bucket. */
export function seriesReads({ bucket, query, countIds }: SeriesReadDependencies) {
  return { read, eachAdded };

  async function eachAdded(windows: readonly SeriesWindow[], take: TakeAdded): Promise<void> {
    for (const equal of groupBy(windows, ({ from, to }) => `${from} ${to}`).values()) {
      for (const slotQuery of slotQueries(equal)) {
        let points: Parameters<TakeAdded>[] = [];
        await queryAdded(slotQuery, () => {
          points = [];
          return (...point) => points.push(point);
        });
        for (const point of points) take(...point);
      }
    }
  }

  /** Passes the added points of a query, each once, to a function; after a temporary error, all of them to another. */
  async function queryAdded(slotQuery: SlotQuery, takerOf: () => TakeAdded): Promise<void> {
    let end = () => {};
    await query(addedScript(bucket, slotQuery), () => {
      const reader = addedReader(slotQuery.dimension, takerOf());
      end = reader.end;
      return reader;
    });
    end();
  }

  async function read(windows: readonly SeriesWindow[], source: ValueSource | undefined): Promise<Float64Array[]> {
    const stored = windows.filter(({ series }) => !isSum(series));
    const columns = (await readStored(stored, source)).values();
    const read: Float64Array[] = [];
    for (const window of windows)
      read.push(isSum(window.series) ? await readSum(window) : (columns.next().value as Float64Array));
    return read;
  }

  async function readStored(
    windows: readonly SeriesWindow[],
    source: ValueSource | undefined,
  ): Promise<Float64Array[]> {
    const columns = windows.map((window): Float64Array => new Float64Array(slotsIn(window)).fill(Number.NaN));
    const failed = new AbortController();
    await eachAtOnce(slotQueries(windows), CONCURRENT_QUERIES, async (slotQuery) => {
      const { dimension } = slotQuery;
      const targets = new Map<number, SlotTarget>();
      const targetOf = ({ place, from, ...window }: PlacedWindow): SlotTarget => {
        const target = new SlotTarget(from, dimension.slotMs, slotsIn({ ...window, from }));
        targets.set(place, target);
        return target;
      };
      const readerOf = () => {
        const ofSeries = new Map(Array.from(slotQuery.windows, ([key, placed]) => [key, placed.map(targetOf)]));
        return slotReader((id, type) => ofSeries.get(seriesKey({ dimension, id, type })) ?? []);
      };
      try {
        await query(fluxScript(bucket, slotQuery, source), readerOf, failed.signal);
      } catch (error) {
        failed.abort();
        throw error;
      }
      for (const [place, target] of targets) columns[place] = target.merged();
    });
    await addPoints(windows, columns);
    return columns;
  }

  /** Replaces each `UNKNOWN_SUM` by the sum of the points of its slot. They are read a part at a time and not kept. */
  async function addPoints(windows: readonly SeriesWindow[], columns: readonly Float64Array[]): Promise<void> {
    const unknown = windows.flatMap(({ series, from }, i) => {
      const column = columns[i] as Float64Array;
      const startOf = (slot: number) => from + slot * series.dimension.slotMs;
      return slotsOf(column, UNKNOWN_SUM).map((slot) => ({ series, start: startOf(slot), column, slot }));
    });
    for (const { column, slot } of unknown) column[slot] = Number.NaN;
    const partOf = ({ series: { dimension }, start }: (typeof unknown)[number]) =>
      `${dimension.name} ${Math.floor(start / dimension.slotMs / ADDED_SLOTS)}`;
    await eachAtOnce([...groupBy(unknown, partOf).values()], CONCURRENT_QUERIES, async (slots) => {
      const from = Math.min(...slots.map(({ start }) => start));
      const to = Math.max(...slots.map(({ series, start }) => start + series.dimension.slotMs));
      const keyOf = (series: Series, start: number) => `${start} ${seriesKey(series)}`;
      const bySlot = groupBy(slots, ({ series, start }) => keyOf(series, start));
      for (const slotQuery of slotQueries(slots.map(({ series }) => ({ series, from, to })))) {
        let sums = new Map<string, ExactSum>();
        await queryAdded(slotQuery, () => {
          sums = new Map();
          return (series, { ms, value }) => {
            const key = keyOf(series, slotStart(series.dimension, ms));
            const sum = sums.get(key) ?? new ExactSum();
            sums.set(key, sum);
            sum.add(value);
          };
        });
        for (const [key, sum] of sums)
          for (const { column, slot } of bySlot.get(key) ?? []) column[slot] = sum.round().sum;
      }
    });
  }

  /** Queries all series of the dimension, in windows short enough that the values of one query fit into memory. */
  async function readSum({ series: { dimension, type }, from, to }: SeriesWindow): Promise<Float64Array> {
    const { slotMs } = dimension;
    const sums = new Float64Array((to - from) / slotMs).fill(Number.NaN);
    const series = Math.max(1, await countIds(dimension));
    const length = Math.max(1, Math.floor(SUMMED_SLOTS / series));
    for (let first = 0; first < sums.length; first += length) {
      const count = Math.min(length, sums.length - first);
      const start = from + first * slotMs;
      const end = start + count * slotMs;
      // InfluxDB refuses queries outside the range of times that it can store.
      if (end <= FIRST || start >= LAST) continue;
      const targets = new Map<string, [SlotTarget]>();
      const targetsOf = (id: string) => {
        const target = targets.get(id) ?? [new SlotTarget(start, slotMs, count)];
        targets.set(id, target);
        return target;
      };
      const script = sumScript(bucket, { dimension, from: start, to: end }, type);
      await query(script, () => {
        targets.clear();
        return slotReader(targetsOf);
      });
      const part = sums.subarray(first, first + count);
      const windows = Array.from(targets.keys(), (id) => ({ series: { dimension, id, type }, from: start, to: end }));
      const columns = Array.from(targets.values(), ([target]) => target.merged());
      await addPoints(windows, columns);
      for (const column of columns) addSlots(column, part);
    }
    return sums;
  }
}

function slotsOf(column: Float64Array, value: number): number[] {
  const slots: number[] = [];
  for (let slot = column.indexOf(value); slot >= 0; slot = column.indexOf(value, slot + 1)) slots.push(slot);
  return slots;
}
