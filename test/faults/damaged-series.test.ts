import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import fc from "fast-check";
import { StartError } from "../../src/errors.js";
import { segment, stream } from "../../src/metrics/dimensions.js";
import type { SettingSource } from "../../src/metrics/ports.js";
import { CHUNK_SLOTS } from "../../src/stores/sqlite/series/chunks.js";
import { dataFolder } from "../support/data-folder.js";
import { startService, type TestService } from "../support/service.js";

/** Number of damages, and number of services at a time. */
const DAMAGES = Number(process.env.RANDOM_DAMAGES ?? 40);
const AT_ONCE = 8;

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 15, 9, 30);
/** The first slot of a chunk of streams and of segments. */
const START = (Math.floor(NOW / (2 * CHUNK_SLOTS * HOUR)) - 30) * 2 * CHUNK_SLOTS * HOUR;

const series = [
  ...Array.from({ length: 9 }, (_, i) => ({ dimension: stream, id: `stream-${i}`, type: "size" })),
  ...Array.from({ length: 3 }, (_, i) => ({ dimension: segment, id: `segment-${i}`, type: "size" })),
];

interface Answer {
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/** Reads and writes in one run of the service. The first read of a series and its write have the same index. */
interface Run {
  readonly reads: readonly Answer[];
  readonly writes: readonly Answer[];
}

describe("P40: a flipped bit of metrics.db", () => {
  let dir: string;
  let whole: Buffer;
  let undamaged: Run;
  let written: Run;
  before(async function () {
    this.timeout(30_000);
    dir = dataFolder();
    await run(dir, fill);
    whole = readFileSync(join(dir, "metrics.db"));
    const runs = await runsWith(undefined);
    if (runs === undefined) throw new Error("the undamaged file was refused");
    [undamaged, written] = runs;
    const answers = runs.flatMap(({ reads, writes }) => [...reads, ...writes]);
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  /** Returns what a service answers with this bit flipped, and after a restart; undefined if a start is refused. */
  async function runsWith(bit: number | undefined): Promise<readonly [Run, Run] | undefined> {
    const own = dataFolder();
    cpSync(dir, own, { recursive: true });
    if (bit !== undefined) {
      const flipped = Buffer.from(whole);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      writeFileSync(join(own, "metrics.db"), flipped);
    }
    try {
      return [await run(own, readAndWrite), await run(own, readAndWrite)];
    } catch (error) {
      expect(error, `${(error as Error).stack}`).to.be.instanceOf(StartError);
      expect((error as Error).message).to.match(/^[^\n]*metrics\.db [^\n]+$/);
      return undefined;
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  }

  /** Expects each response with a flipped bit to equal the one of the whole file, or to be 503. Returns the outcome. */
  function outcomeOf(runs: readonly [Run, Run] | undefined): "refused" | "unavailable" | "right" {
    if (runs === undefined) return "refused";
    const [first, second] = runs;
    const answers = [first, second].flatMap(({ reads, writes }) => [...reads, ...writes]);
    for (const { path, status, body } of answers)
      expect(status, `${path}: ${JSON.stringify(body)}`).to.be.oneOf([200, 503]);
    for (const [i, read] of first.reads.entries())
      if (read.status === 200) expect(read).to.deep.equal(undamaged.reads[i]);
    const stored = first.writes.map(({ status }) => status === 200);
    for (const [i, read] of second.reads.entries()) {
      if (read.status !== 200) continue;
      const own = i < series.length ? stored.slice(i, i + 1) : stored;
      if (!own.includes(false)) expect(read).to.deep.equal(written.reads[i]);
      if (!own.includes(true)) expect(read).to.deep.equal(undamaged.reads[i]);
    }
    return answers.some(({ status }) => status === 503) ? "unavailable" : "right";
  }

  it(`(${DAMAGES} at random) refuses the start or requests, and changes no response, also after writes`, async function () {
    this.timeout(DAMAGES * 5_000);
    const outcomes = { refused: 0, unavailable: 0, right: 0 };
    const bits = fc.integer({ min: 0, max: 8 * whole.length - 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(bits, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (some) => {
        const runs = await Promise.all(some.map(runsWith));
        for (const one of runs) outcomes[outcomeOf(one)] += 1;
      }),
      { numRuns: Math.ceil(DAMAGES / AT_ONCE), endOnFailure: true },
    );
    if (process.env.RANDOM_DAMAGES !== undefined) console.log(outcomes);
    for (const count of Object.values(outcomes)) expect(count, JSON.stringify(outcomes)).to.be.above(0);
  });
});

/** Starts a service, does the work and stops it. */
async function run<T>(dir: string, work: (service: TestService) => Promise<T>): Promise<T> {
  const service = await startService({}, { dir, clock: () => NOW, onServers: false });
  try {
    return await work(service);
  } finally {
    await service.stop({ keep: true });
  }
}

/** Writes all series, of which some also have sums of added points, values of the recorder, or slots in the journal. */
async function fill(service: TestService): Promise<void> {
  const { series: store } = service.service.stores;
  for (const [i, one] of series.entries()) {
    const { slotMs } = one.dimension;
    const write = (source: SettingSource, chunk: number, slots: number) => {
      const values = Float64Array.from({ length: slots }, (_, slot) => 1 + (((slot + i) * 7_919) % 1_000));
      return store.write(source, [{ series: one, from: START + chunk * CHUNK_SLOTS * slotMs, values }]);
    };
    await write("clients", 0, 20 * CHUNK_SLOTS);
    await write("clients", 25, 90);
    if (i % 3 === 0) await write("recorder", 20, 3 * CHUNK_SLOTS);
    const points = Array.from({ length: 50 }, (_, source) => ({
      ms: NOW - 9 * HOUR,
      ns: 0,
      source,
      value: source / 10,
    }));
    if (i % 3 === 1) await store.add([{ series: one, points }]);
    await store.expire(0);
    if (i % 3 === 2) await write("clients", 27, 3);
  }
}

async function readAndWrite(service: TestService): Promise<Run> {
  const answered = async (path: string, json?: unknown): Promise<Answer> => {
    const answer = await service.fetch(path, json === undefined ? {} : { method: "POST", json });
    return { path, status: answer.status, body: await answer.json() };
  };
  const items = series.map(
    ({ dimension, id, type }): Record<string, string> => ({
      dimension: dimension.name,
      dimension_id: id,
      dimension_type: type,
      startdate: `${START}`,
      enddate: `${NOW}`,
      interval: "6h",
      aggregation: "sum",
    }),
  );
  const reads: Answer[] = [];
  for (const item of items) reads.push(await answered(`/api/metric?${new URLSearchParams(item)}`));
  reads.push(await answered("/api/metric", items));
  reads.push(await answered("/api/series?dimension=stream"), await answered("/api/series?dimension=segment"));
  const writes: Answer[] = [];
  for (const [i, { dimension, id, type }] of series.entries()) {
    const ts = Array.from({ length: 50 }, (_, slot) => START + (20 * CHUNK_SLOTS - 20 + slot) * dimension.slotMs);
    const json = {
      series: [{ dimension: dimension.name, dimension_id: id, dimension_type: type }],
      ts,
      values: [ts.map((_, slot) => slot + i)],
    };
    writes.push(await answered("/api/metric/points", json));
  }
  // Folds the journal.
  await service.service.stores.series.expire(0).catch(() => {});
  return { reads, writes };
}
