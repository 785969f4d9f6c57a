import { setImmediate } from "node:timers/promises";
import { groupedCalls } from "../../../async/grouped-calls.js";
import { weightedBatches } from "../../../async/weighted-batches.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import { CacheMemory } from "../../../cache-memory.js";
import { ServiceError } from "../../../errors.js";
import { dimensionNamed } from "../../../metrics/dimensions.js";
import { type SeriesStore, type SeriesWindow, type SettingSource, slotsIn } from "../../../metrics/ports.js";
import { type AddedPoints, addSlots, isSum, type SlotColumn } from "../../../metrics/series.js";
import type { Database } from "../connection.js";
import { type AddedChange, type AddedPointOptions, AddedPointTable } from "./added-points.js";
import { addedSchema } from "./added-rows.js";
import { ChunkLists } from "./chunk-lists.js";
import { chunkWriter } from "./chunk-writer.js";
import { CHUNK_SLOTS, CHUNKS, chunkSchema, DamagedRow, eachChunk, rowOf, savedRange, sourceNumber } from "./chunks.js";
import { refuseDamagedTable } from "./damaged-table.js";
import { Journal, type JournalOptions } from "./journal.js";
import { journalSchema, type PlacedSlots, PointRecord } from "./journal-table.js";
import { seriesIdSchema, seriesIds, seriesList } from "./series-ids.js";
import { windowReader } from "./window-reader.js";

export const seriesSchema = [seriesIdSchema, chunkSchema, journalSchema, addedSchema];

/**
 * Average slots per column from which a write goes directly into the chunks. A shorter write goes into the journal, as
 * it would rewrite whole chunks for a few slots.
 */
const LONG_COLUMN = 32;

/** Maximum slots of concurrent writes per commit. */
const COMMIT_SLOTS = 500_000;

/** Memory of a column besides its slots, counted in slots. */
const COLUMN_COST = 40;

/** Maximum added points of concurrent writes per commit. */
const COMMIT_POINTS = 12_500;

/** Cached numbers, lists and sums of series of a store that shares no memory with other caches, bytes. */
const CACHE_BYTES = 64 * 1024 * 1024;

/** Slots read before other requests run. */
const READ_AT_ONCE = 200_000;

/** Cost of a window besides its slots, counted in slots. */
const WINDOW_COST = 500;

/** Series in `metrics.db`: chunks, overlaid with the slots of the journal (docs/journal.md). */
export interface SqliteSeriesStore extends SeriesStore {
  /** Resolves when everything written before the call is in chunks. Rejects with SQLite's error. */
  fold(): Promise<void>;
  /** Stops background work. */
  close(): Promise<void>;
}

/** One write: columns, with the source to write them to, or a change of added points. */
type Write =
  | { readonly source: SettingSource; readonly columns: readonly SlotColumn[] }
  | { readonly source: "added"; readonly change: AddedChange };

export interface SqliteSeriesOptions extends JournalOptions, AddedPointOptions {
  readonly cache?: CacheMemory | undefined;
}

/** Reads the journal into memory. Throws a `StartError` if it, or the list of series, is damaged. */
export function sqliteSeriesStore(
  db: Database,
  { cache = new CacheMemory(CACHE_BYTES), ...options }: SqliteSeriesOptions = {},
): SqliteSeriesStore {
  for (const table of ["series", "journal", "added_piece"]) refuseDamagedTable(db, table);
  const ids = seriesIds(db, cache);
  const lists = new ChunkLists(db, cache);
  const journal = new Journal(db, lists, options);
  const readWindows = windowReader(db, ids, lists, journal);
  const points = new AddedPointTable(db, { ...options, ids, read: readWindows, cache });
  const writeChunk = chunkWriter(db, lists);
  const idsOf = db.prepare("SELECT dimension_id AS id FROM series WHERE dimension = ? AND type = ?");
  const removeChunks = db.prepare("DELETE FROM chunk WHERE id >= ? AND id < ?");
  // A damaged row may have lost its list.
  const removeEmpty = db.prepare(`DELETE FROM series WHERE id = ?1 AND chunks IS NULL AND sum IS NULL
    AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.id >= ?2 AND chunk.id < ?3)`);

  const append = groupedCalls<Write, void>(
    async (writes) => {
      await journal.waitForRoom();
      forgettingFailed(() => journal.append(() => PointRecord.of(placedSlots(writes))));
    },
    {
      most: COMMIT_SLOTS,
      weightOf: (write) =>
        write.source === "added"
          ? COLUMN_COST * write.change.slots.length
          : slotsOf(write.columns) + COLUMN_COST * write.columns.length,
      atOnce: 1,
      afterRound: true,
      isOfOneCall,
    },
  );

  const add = groupedCalls<AddedPoints, void>(
    (added) => points.add(added, (change) => append([{ source: "added", change }])),
    { most: COMMIT_POINTS, weightOf: (added) => added.points.length, atOnce: 1, afterRound: true, isOfOneCall },
  );

  /** Returns the slots of writes with the numbers of their series; gives numbers to new series, stores added points. */
  function placedSlots(writes: readonly Write[]): PlacedSlots[] {
    const placed: PlacedSlots[] = [];
    for (const write of writes) {
      if (write.source === "added") {
        for (const sum of points.store(write.change)) placed.push(sum);
        continue;
      }
      for (const { series, from, values } of write.columns) {
        const { start, end } = savedRange(values);
        if (start === end) continue;
        const slot = from / series.dimension.slotMs + start;
        placed.push({ series: ids.findOrAdd(series), source: sourceNumber[write.source], slot, values, start, end });
      }
    }
    return placed;
  }

  /** Forgets the numbers of series that a transaction added, if it fails. */
  function forgettingFailed(work: () => void): void {
    try {
      work();
    } catch (error) {
      ids.forget();
      throw error;
    }
  }

  /** Returns whether columns may bypass the journal: none of their series has slots there, which would hide them. */
  function areForChunks(columns: readonly SlotColumn[]): boolean {
    if (slotsOf(columns) < LONG_COLUMN * columns.length) return false;
    return !columns.some(({ series }) => {
      const id = ids.find(series);
      return id !== undefined && journal.has(id);
    });
  }

  /** Returns false, with nothing written, if one of the chunks is damaged: the write then goes to the journal. */
  function writeChunks(source: SettingSource, columns: readonly SlotColumn[]): boolean {
    try {
      forgettingFailed(() =>
        lists.changing(() => {
          for (const place of placedSlots([{ source, columns }]))
            eachChunk(place, place.start, place.end, (row, first, from, to) =>
              writeChunk(row, place.values.subarray(from, to), first),
            );
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof DamagedRow) return false;
      throw error;
    }
  }

  async function readSum({ series: { dimension, type }, from, to }: SeriesWindow): Promise<Float64Array> {
    const sums = new Float64Array((to - from) / dimension.slotMs).fill(Number.NaN);
    const rows = idsOf.all(dimension.name, type) as { id: string }[];
    const windows = rows.map(({ id }) => ({ series: { dimension, id, type }, from, to }));
    // Adding a column costs as much as reading it.
    for (const batch of weightedBatches(windows, READ_AT_ONCE, (window) => WINDOW_COST + 2 * slotsIn(window))) {
      for (const column of readWindows(batch)) addSlots(column, sums);
      await yieldWhenDue();
    }
    return sums;
  }

  /** Removes the rows of a series (its id) before a row of it. Ten years have about 500 from each source. */
  function expireRows(id: number, end: number): void {
    const { first } = lists.extentOf(id) ?? { first: end };
    if (first >= end) return;
    lists.changing(() => {
      removeChunks.run(first, end);
      lists.removeBefore(end);
    });
  }

  return {
    chunkSlots: CHUNK_SLOTS,

    async write(source, columns) {
      if (!areForChunks(columns) || !writeChunks(source, columns)) await append([{ source, columns }]);
    },

    async add(added) {
      if (added.length > 0) await add(added);
    },

    settle: (before) => points.settle(before),

    async read(windows, source) {
      const stored = windows.filter(({ series }) => !isSum(series));
      const columns: Float64Array[] = [];
      for (const batch of weightedBatches(stored, READ_AT_ONCE, (window) => WINDOW_COST + slotsIn(window))) {
        if (columns.length > 0) await yieldWhenDue();
        columns.push(...readWindows(batch, source));
      }
      for (const [i, window] of windows.entries())
        if (isSum(window.series)) columns.splice(i, 0, await readSum(window));
      return columns;
    },

    mayHold: (series) => isSum(series) || ids.find(series) !== undefined,

    ...seriesList(db, ids, cache),

    async expire(before) {
      // A full disk may prevent both, and this removal frees space. Slots left in the journal are removed later.
      await points.settle(before).catch(() => {});
      await journal.fold().catch(() => {});
      for (const { id, dimension } of ids.all()) {
        await setImmediate();
        const slotMs = dimensionNamed(dimension)?.slotMs;
        if (slotMs === undefined) continue;
        const chunks = Math.floor(before / slotMs / CHUNK_SLOTS);
        try {
          expireRows(id, rowOf(id, Math.min(CHUNKS, Math.max(0, chunks))));
        } catch (error) {
          if (!(error instanceof DamagedRow)) throw error;
          journal.report(error);
        }
        if (journal.has(id)) continue;
        if (Number(removeEmpty.run(id, rowOf(id, 0), rowOf(id + 1, 0)).changes) > 0) ids.forget();
      }
      points.forget();
    },

    async fold() {
      await journal.fold();
      await points.storePieces();
    },

    close: () => journal.close(),
  };
}

/** Returns whether one write may have caused an error, so that the others of its commit deserve a retry. */
function isOfOneCall(error: unknown): boolean {
  return error instanceof DamagedRow || (error instanceof ServiceError && error.kind === "invalid");
}

function slotsOf(columns: readonly SlotColumn[]): number {
  return columns.reduce((sum, { values }) => sum + values.length, 0);
}
