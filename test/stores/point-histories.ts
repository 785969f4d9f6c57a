import { rmSync } from "node:fs";
import { expect } from "chai";
import fc from "fast-check";
import { ServiceError } from "../../src/errors.js";
import { ExactSum } from "../../src/exact-sum.js";
import { stream } from "../../src/metrics/dimensions.js";
import { type SettingSource, settingSources, type ValueSource, valueSources } from "../../src/metrics/ports.js";
import type { AddedPoint, Series, SlotColumn } from "../../src/metrics/series.js";
import type { Database } from "../../src/stores/sqlite/connection.js";
import { metricsFile } from "../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../src/stores/sqlite/open-database.js";
import { CHUNK_SLOTS } from "../../src/stores/sqlite/series/chunks.js";
import { type SqliteSeriesStore, sqliteSeriesStore } from "../../src/stores/sqlite/series/series-store.js";
import { dataFolder } from "../support/data-folder.js";

/** Slots that histories write to: four chunks, beginning at a chunk's first slot. */
const SLOTS = 4 * CHUNK_SLOTS;
const START = Math.ceil(Date.UTC(2024, 0, 1) / (CHUNK_SLOTS * stream.slotMs)) * CHUNK_SLOTS * stream.slotMs;
const SERIES: readonly Series[] = ["a", "b", "c"].map((id) => ({ dimension: stream, id, type: "size" }));

/** Few, so that most writes of added points are stored in pieces. */
const POINTS_AT_ONCE = 20;

interface Stretch {
  readonly series: number;
  readonly slot: number;
  readonly values: readonly number[];
}

/** A point that is added to a slot: `at` is its ms in the slot. Few different ones, so that many are repeated. */
interface Added {
  readonly series: number;
  readonly slot: number;
  readonly at: number;
  readonly ns: number;
  readonly source: number;
  readonly value: number;
}

export type Step =
  | {
      readonly do: "write";
      readonly source: SettingSource;
      readonly stretches: readonly Stretch[];
      readonly folding: boolean;
    }
  | { readonly do: "add"; readonly added: readonly Added[]; readonly folding: boolean }
  | { readonly do: "fold" }
  | { readonly do: "settle" | "expire"; readonly slot: number }
  | {
      readonly do: "die";
      readonly at: string;
      readonly short: Stretch;
      readonly long: Stretch;
      readonly added: readonly Added[];
    }
  | { readonly do: "restart" };

const value = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -9, max: 9 }) },
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
);
const stretchOf = (minLength: number, maxLength: number) =>
  fc.record({
    series: fc.nat(SERIES.length - 1),
    slot: fc.nat(SLOTS - maxLength),
    values: fc.array(value, { minLength, maxLength }),
  });
const short = stretchOf(1, 6);
const long = stretchOf(32, 2 * CHUNK_SLOTS);
const write = (stretches: fc.Arbitrary<Stretch[]>) =>
  fc.record({
    do: fc.constant("write" as const),
    source: fc.constantFrom(...settingSources),
    stretches,
    folding: fc.boolean(),
  });

const added = fc.array(
  fc.record({
    series: fc.nat(SERIES.length - 1),
    slot: fc.oneof(fc.integer({ min: CHUNK_SLOTS - 2, max: CHUNK_SLOTS + 2 }), fc.nat(SLOTS - 1)),
    at: fc.nat(2),
    ns: fc.nat(1),
    source: fc.nat(1),
    value: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: -9, max: 9 }).map((number) => number / 8) },
      { weight: 1, arbitrary: fc.constantFrom(1e300, -1e300, 1e-300, Number.MAX_VALUE, -Number.MAX_VALUE) },
    ),
  }),
  { minLength: 1, maxLength: 120 },
);

/** Steps of a history: writes, added points, folds during them, expiry, restarts, and deaths at these failpoints. */
export function steps(deaths: readonly string[]): fc.Arbitrary<Step> {
  const die = fc.record({ do: fc.constant("die" as const), at: fc.constantFrom(...deaths), short, long, added });
  return fc.oneof(
    { weight: 8, arbitrary: write(fc.array(short, { minLength: 1, maxLength: 5 })) },
    { weight: 3, arbitrary: write(fc.array(long, { minLength: 1, maxLength: 2 })) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant("add" as const), added, folding: fc.boolean() }) },
    { weight: 2, arbitrary: fc.constant({ do: "fold" as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("settle" as const), slot: fc.nat(SLOTS) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("expire" as const), slot: fc.nat(SLOTS) }) },
    { weight: 3, arbitrary: die },
    { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
  );
}

class Death extends Error {}

/** The embedded store of series and a model of its slots, which take the same steps. */
export class PointHistory {
  readonly #dir = dataFolder();
  readonly #slots: Record<ValueSource, Float64Array[]> = { clients: empty(), added: empty(), recorder: empty() };
  /** Every added point of slots that are not settled, by its slot and what identifies it. */
  readonly #added = new Map<string, Map<string, number>>();
  /** The slot before which all slots are settled. */
  #settled = 0;
  #db: Database;
  #store: SqliteSeriesStore;
  /** The failpoint at which the process dies. */
  #death: string | undefined;

  constructor() {
    [this.#db, this.#store] = this.#open();
  }

  /** Takes a step, and compares every slot of each source and of the values for readers. */
  async take(step: Step): Promise<void> {
    if (step.do === "write") await this.#write(step.source, step.stretches, step.folding);
    else if (step.do === "add") await this.#addAll(step.added, step.folding);
    else if (step.do === "fold") await this.#store.fold();
    else if (step.do === "settle") await this.#settle(step.slot);
    else if (step.do === "expire") await this.#expire(step.slot);
    else if (step.do === "die") await this.#die(step.at, step);
    else await this.#restart();
    await this.compare();
  }

  async compare(): Promise<void> {
    const windows = SERIES.map((series) => ({ series, from: START, to: START + SLOTS * stream.slotMs }));
    for (const source of valueSources)
      expect(await this.#store.read(windows, source), source).to.deep.equal(this.#slots[source]);
    const { clients, added, recorder } = this.#slots;
    const all = clients.map((column, i) =>
      column.map((_, slot) => {
        const values = [clients, added, recorder].map((columns) => columns[i]?.[slot] as number);
        return values.find((value) => !Number.isNaN(value)) ?? Number.NaN;
      }),
    );
    expect(await this.#store.read(windows), "all sources").to.deep.equal(all);
  }

  async end(): Promise<void> {
    await this.#store.close();
    this.#db.close();
    rmSync(this.#dir, { recursive: true });
  }

  async #write(source: SettingSource, stretches: readonly Stretch[], folding: boolean): Promise<void> {
    const fold = folding ? this.#store.fold() : undefined;
    await this.#store.write(source, stretches.map(columnOf));
    for (const stretch of stretches) this.#lay(source, stretch);
    if (folding) await this.compare();
    await fold;
  }

  /** A write with a point of a settled slot is refused as a whole. */
  async #addAll(points: readonly Added[], folding: boolean): Promise<void> {
    const fold = folding ? this.#store.fold() : undefined;
    const isRefused = points.some(({ slot }) => slot < this.#settled);
    expect(await isInvalid(this.#store.add(addedPointsOf(points)))).to.equal(isRefused);
    const open = points.filter(({ slot }) => slot >= this.#settled);
    if (isRefused) await this.#store.add(addedPointsOf(open));
    for (const point of open) this.#count(point);
    if (folding) await this.compare();
    await fold;
  }

  async #settle(slot: number): Promise<void> {
    await this.#store.settle(START + slot * stream.slotMs);
    this.#noteSettled(slot);
  }

  async #expire(slot: number): Promise<void> {
    await this.#store.expire(START + slot * stream.slotMs);
    this.#noteSettled(slot);
    const end = Math.floor(slot / CHUNK_SLOTS) * CHUNK_SLOTS;
    for (const source of valueSources) for (const column of this.#slots[source]) column.fill(Number.NaN, 0, end);
  }

  /** The process dies in a write, or in a fold during a write. Its commits are kept. */
  async #die(
    at: string,
    { short, long, added }: { short: Stretch; long: Stretch; added: readonly Added[] },
  ): Promise<void> {
    this.#death = at;
    const open = added.filter(({ slot }) => slot >= this.#settled);
    const adding = hasDied(this.#store.add(addedPointsOf(open)));
    if (at !== "added-points-prepared") for (const point of open) this.#count(point);
    const isSaid = !short.values.every(Number.isNaN);
    const written = this.#store.write("clients", [columnOf(short)]);
    const died = [await hasDied(written)];
    await adding;
    this.#lay("clients", short);
    if (at === "slots-settled") {
      const isSettled = this.#noteSettled(long.slot);
      const hasDiedThere = await hasDied(this.#store.settle(START + long.slot * stream.slotMs));
      expect(hasDiedThere, at).to.equal(isSettled);
    } else if (at.startsWith("journal-") && at !== "journal-appended") {
      const folded = hasDied(this.#store.fold());
      // A process that died in the first step of the fold writes no more.
      if (at !== "journal-folded-some") {
        await this.#store.write("clients", [columnOf(long)]);
        this.#lay("clients", long);
      }
      died.push(await folded);
    }
    if (isSaid && at.startsWith("journal-")) expect(died.at(-1), at).to.equal(true);
    await this.#restart();
  }

  async #restart(): Promise<void> {
    this.#death = undefined;
    await this.#store.close();
    this.#db.close();
    [this.#db, this.#store] = this.#open();
  }

  #open(): [Database, SqliteSeriesStore] {
    const db = openDatabase(this.#dir, metricsFile);
    db.exec("PRAGMA synchronous = OFF");
    const die = (name: string) => {
      if (name === this.#death) throw new Death(name);
    };
    return [db, sqliteSeriesStore(db, { failpoint: die, pointsAtOnce: POINTS_AT_ONCE })];
  }

  /**
   * Notes that slots up to the last one before `slot` that has added points are settled, and returns whether there is
   * one that was not.
   */
  #noteSettled(slot: number): boolean {
    const slots = Array.from(this.#added.keys(), (key) => Number(key.split(" ")[1]));
    const newly = slots.filter((other) => other >= this.#settled && other < slot);
    this.#settled = Math.max(this.#settled, ...newly.map((other) => other + 1));
    return newly.length > 0;
  }

  #count({ series, slot, at, ns, source, value }: Added): void {
    const points = this.#added.get(`${series} ${slot}`) ?? new Map<string, number>();
    this.#added.set(`${series} ${slot}`, points.set(`${at} ${ns} ${source}`, value));
    const sum = new ExactSum();
    for (const one of points.values()) sum.add(one);
    (this.#slots.added[series] as Float64Array)[slot] = sum.round().sum;
  }

  #lay(source: SettingSource, { series, slot, values }: Stretch): void {
    const column = this.#slots[source][series] as Float64Array;
    for (const [i, value] of values.entries()) if (!Number.isNaN(value)) column[slot + i] = value;
  }
}

async function hasDied(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof Death) return true;
    throw error;
  }
}

async function isInvalid(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof ServiceError && error.kind === "invalid") return true;
    throw error;
  }
}

function addedPointsOf(points: readonly Added[]) {
  return points.map(({ series, slot, at, ns, source, value }) => {
    const point: AddedPoint = { ms: START + slot * stream.slotMs + at, ns, source, value };
    return { series: SERIES[series] as Series, points: [point] };
  });
}

function empty(): Float64Array[] {
  return SERIES.map(() => new Float64Array(SLOTS).fill(Number.NaN));
}

function columnOf({ series, slot, values }: Stretch): SlotColumn {
  return {
    series: SERIES[series] as Series,
    from: START + slot * stream.slotMs,
    values: Float64Array.from(values),
  };
}
