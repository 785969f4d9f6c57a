import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { weightedBatches } from "../../async/weighted-batches.js";
import { CacheMemory } from "../../cache-memory.js";
import { StartError } from "../../errors.js";
import { randomId } from "../../ids.js";
import { dimensionNamed, dimensions, MAX_SLOT_MS } from "../../metrics/dimensions.js";
import type { SeriesWindow } from "../../metrics/ports.js";
import { type AddedPoint, type AddedPoints, type Series, slotStart } from "../../metrics/series.js";
import type { ProfileSource, SeriesSource } from "../copy.js";
import { PEPPER_MARK } from "../pepper.js";
import type { Database } from "./connection.js";
import { factsOf } from "./database-facts.js";
import { matchLedger } from "./deletions/ledger-match.js";
import { entitiesFile, ledgerFile, metricsFile } from "./layout.js";
import type { FileLayout } from "./open-database.js";
import { OpenFiles } from "./open-files.js";
import { copyFacts, entityParts, ledgerParts } from "./profiles/export-profiles.js";
import { settledIn } from "./series/added-points.js";
import { ChunkLists } from "./series/chunk-lists.js";
import { CHUNK_SLOTS, chunkOf } from "./series/chunks.js";
import { sqliteSeriesStore } from "./series/series-store.js";

/** An embedded folder, locked against services until it is closed. */
interface LockedFolder {
  /** Rejects with a `StartError` if there are no profiles, the next one if there are no series. */
  profiles(): Promise<ProfileSource>;
  series(): Promise<SeriesSource>;
  close(): Promise<void>;
}

/** Locks the folder for this process. Creates nothing: the folder and the files of a service must exist. */
export function lockSource(dir: string): LockedFolder {
  const folder = resolve(dir);
  if (![ledgerFile, entitiesFile, metricsFile].some(({ name }) => existsSync(join(folder, name)))) {
    throw new StartError(
      `${folder} is not the data folder of a service: it contains no ledger.db, entities.db or metrics.db`,
    );
  }
  const files = new OpenFiles();
  files.lock("entities", folder);
  files.lock("metrics", folder);
  let closeSeries = async () => {};

  const opened = (layout: FileLayout): Database => {
    if (!existsSync(join(folder, layout.name))) throw new StartError(`${folder} contains no ${layout.name}`);
    return files.open(folder, layout);
  };

  return {
    async profiles() {
      const ledger = opened(ledgerFile);
      const entities = opened(entitiesFile);
      return {
        mark: await matchLedger(ledger, entities, folder),
        pepper: await factsOf(ledger).text(PEPPER_MARK),
        facts: await copyFacts(ledger, entities),
        parts: { ...ledgerParts(ledger), ...entityParts(entities, ledger) },
      };
    },

    async series() {
      const db = opened(metricsFile);
      const series = sqliteSeriesStore(db);
      closeSeries = series.close;
      await series.fold();
      return {
        mark: await factsOf(db).textOnce(SERIES_MARK, randomId()),
        series,
        windows: () => seriesWindows(db),
        settled: copiedAsSums(db),
        added: () => addedPoints(db),
      };
    },

    async close() {
      await closeSeries();
      files.close();
    },
  };
}

/** Fact of `metrics.db`: its random id. */
const SERIES_MARK = "series";

/** Series read at once, and slots of each: half a year of hours. */
const SERIES_AT_ONCE = 100;
const SLOTS_AT_ONCE = 26 * CHUNK_SLOTS;

/** A series with the first slot of its first chunk and the end of its last one, counted from 1970. */
interface Extent {
  readonly series: Series;
  readonly first: number;
  readonly end: number;
}

/**
 * Yields windows over all of `metrics.db`, in batches. The windows of a batch cover the same time, so that a store can
 * read them in one query.
 */
function* seriesWindows(db: Database): Iterable<SeriesWindow[]> {
  for (const batch of batchesOf(extentsOf(db))) {
    const slotMs = batch[0]?.series.dimension.slotMs ?? 1;
    const end = Math.max(...batch.map((extent) => extent.end));
    for (let from = Math.min(...batch.map(({ first }) => first)); from < end; from += SLOTS_AT_ONCE) {
      const to = Math.min(end, from + SLOTS_AT_ONCE);
      const window = { from: from * slotMs, to: to * slotMs };
      const touched = batch.filter((extent) => extent.first < to && extent.end > from);
      if (touched.length > 0) yield touched.map(({ series }) => ({ series, ...window }));
    }
  }
}

/** Returns every series that has a chunk. */
function extentsOf(db: Database): Extent[] {
  const lists = new ChunkLists(db, new CacheMemory(0));
  return [...seriesById(db)].flatMap(([id, series]) => {
    const rows = lists.extentOf(id);
    if (rows === undefined) return [];
    return [{ series, first: chunkOf(rows.first, id) * CHUNK_SLOTS, end: (chunkOf(rows.last, id) + 1) * CHUNK_SLOTS }];
  });
}

/** Returns every series by its number. */
function seriesById(db: Database): Map<number, Series> {
  const rows = db.prepare("SELECT id, dimension, dimension_id, type FROM series ORDER BY id").all();
  const series = new Map<number, Series>();
  for (const row of rows as { id: number; dimension: string; dimension_id: string; type: string }[]) {
    const dimension = dimensionNamed(row.dimension);
    if (dimension === undefined) {
      throw new StartError("metrics.db contains series of a dimension that is unknown to this version");
    }
    series.set(row.id, { dimension, id: row.dimension_id, type: row.type });
  }
  return series;
}

/**
 * Returns the instant (Unix ms) before which all slots are settled or have no added points, so that they are compared
 * by their sums: few queries for many years.
 */
function copiedAsSums(db: Database): number {
  const settled = settledIn(db);
  const { ms } = db.prepare("SELECT min(ms) AS ms FROM added WHERE ms >= ?").get(settled) as { ms: number | null };
  return ms === null ? Number.POSITIVE_INFINITY : Math.max(settled, ms - MAX_SLOT_MS);
}

/** Added points read at once. */
const POINTS_AT_ONCE = 10_000;

/** Yields the added points of all slots that are not settled, in batches. */
function* addedPoints(db: Database): Iterable<AddedPoints[]> {
  const series = seriesById(db);
  const settled = copiedAsSums(db);
  const rows = db.prepare("SELECT ms, ns, series, source, value FROM added ORDER BY ms, ns, series, source").iterate();
  for (const batch of weightedBatches(rows as Iterable<AddedPoint & { readonly series: number }>, POINTS_AT_ONCE)) {
    const points = batch.map(({ series: id, ...point }) => ({ series: series.get(id) as Series, point }));
    yield points
      .filter(({ series, point }) => slotStart(series.dimension, point.ms) >= settled)
      .map(({ series, point }) => ({ series, points: [point] }));
  }
}

/** Yields a few series at a time, all of one dimension. */
function* batchesOf(extents: readonly Extent[]): Iterable<Extent[]> {
  for (const dimension of dimensions)
    yield* weightedBatches(
      extents.filter(({ series }) => series.dimension === dimension),
      SERIES_AT_ONCE,
    );
}
