import { type SeriesWindow, slotsIn, type ValueSource } from "../../../metrics/ports.js";
import type { Database } from "../connection.js";
import type { ChunkLists } from "./chunk-lists.js";
import {
  CHUNK_SLOTS,
  CHUNKS,
  chunkOf,
  DamagedRow,
  overlay,
  type RowSlots,
  rowOf,
  SLOT_ROW,
  type SlotRow,
  SOURCES,
  slotsOf,
  sourceNumber,
} from "./chunks.js";
import type { Journal } from "./journal.js";
import type { SeriesIds } from "./series-ids.js";

/** Reads the slots of each window into a column: of one source, or of all. */
export type ReadWindows = (windows: readonly SeriesWindow[], source?: ValueSource) => Float64Array[];

/** A column to fill, with its window, the number of its series and the range of its rows of `chunk`. */
interface Target {
  readonly window: SeriesWindow;
  readonly column: Float64Array;
  readonly id: number;
  readonly first: number;
  readonly last: number;
}

/** Slots of one row: of `chunk`, decoded when they are written into the column, or of the journal. */
type Layer = SlotRow | RowSlots;

/** Reads the rows of many windows with one statement: one for each window would cost more than its rows. */
export function windowReader(db: Database, ids: SeriesIds, lists: ChunkLists, journal: Journal): ReadWindows {
  const readChunks = db.prepare(`SELECT range.key AS at, ${SLOT_ROW} FROM json_each(?) AS range
    CROSS JOIN chunk ON chunk.id BETWEEN range.value ->> 0 AND range.value ->> 1 ORDER BY range.key, chunk.id`);

  function reportingDamage<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof DamagedRow) journal.report(error);
      throw error;
    }
  }

  /** Returns for each target its stored and journal rows; later ones take precedence. */
  function layersOf(targets: readonly Target[]): Layer[][] {
    const layers = targets.map((): Layer[] => []);
    const ranges = JSON.stringify(targets.map(({ first, last }) => [first, last]));
    const stored = readChunks.all(ranges) as unknown as (SlotRow & { readonly at: number })[];
    for (const row of stored) layers[row.at]?.push(row);
    for (const [at, { id, first, last }] of targets.entries()) {
      reportingDamage(() => lists.verify(first, last, layers[at] as Layer[]));
      const newer = journal.rows(id).filter(({ row }) => row >= first && row <= last);
      if (newer.length > 0) layers[at] = [...(layers[at] ?? []), ...newer].sort((a, b) => a.row - b.row);
    }
    return layers;
  }

  /** Writes the layers of one source, or of all, into a column. */
  function fill({ window, column, id }: Target, layers: readonly Layer[], source: ValueSource | undefined): void {
    const begin = window.from / window.series.dimension.slotMs;
    let lastChunk = -1;
    for (const layer of layers) {
      if (source !== undefined && layer.row % SOURCES !== sourceNumber[source]) continue;
      const { row, first, slots } = "sum" in layer ? reportingDamage(() => slotsOf(layer)) : layer;
      const chunk = chunkOf(row, id);
      const start = chunk * CHUNK_SLOTS + first - begin;
      const skip = Math.max(0, -start);
      if (skip >= slots.length || start >= column.length) continue;
      const part = slots.subarray(skip, column.length - start);
      if (chunk === lastChunk) overlay(part, column, start + skip);
      else column.set(part, start + skip);
      lastChunk = chunk;
    }
  }

  return (windows, source) => {
    const columns = windows.map((window) => new Float64Array(slotsIn(window)).fill(Number.NaN));
    const targets: Target[] = [];
    for (const [i, window] of windows.entries()) {
      const column = columns[i] as Float64Array;
      const id = ids.find(window.series);
      if (id === undefined || column.length === 0) continue;
      const chunks = chunkRange(window);
      targets.push({ window, column, id, first: rowOf(id, chunks.first), last: rowOf(id, chunks.last + 1) - 1 });
    }
    for (const [at, layers] of layersOf(targets).entries()) fill(targets[at] as Target, layers, source);
    return columns;
  };
}

/** Returns the numbers of the first and the last chunk that may overlap the window. */
function chunkRange({ series, from, to }: SeriesWindow): { first: number; last: number } {
  const length = CHUNK_SLOTS * series.dimension.slotMs;
  return { first: Math.max(0, Math.floor(from / length)), last: Math.min(CHUNKS, Math.ceil(to / length)) - 1 };
}
