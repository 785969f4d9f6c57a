import { expect } from "chai";
import fc from "fast-check";
import { startService, type TestService } from "../support/service.js";
import { type OraclePoint, type OracleRequest, oracle } from "./metric-oracle.js";

/** Another one tries other cases. */
const SEED = Number(process.env.ORACLE_SEED ?? 17);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Instants around which calendars are interesting: clocks that change, leap days, year ends, week boundaries. */
const anchors = [
  "2024-02-29T00:00:00Z",
  "2024-03-10T07:00:00Z",
  "2024-03-31T01:00:00Z",
  "2023-12-31T23:00:00Z",
  "2024-11-03T06:00:00Z",
  "2011-12-31T12:00:00Z",
  "2025-01-05T23:30:00Z",
].map((text) => Date.parse(text));

/** Series, and the types of value that can be asked of them. */
const series = [
  { dimension: "stream", dimension_id: "web", types: ["size"] },
  { dimension: "segment", dimension_id: "s1", types: ["size"] },
  { dimension: "segsize", dimension_id: "s1", types: ["size"] },
  {
    dimension: "experience",
    dimension_id: "é 1",
    types: ["conversionrate", "actualreach", "potentialreach", "converted", "size"],
  },
  { dimension: "experiencegroup", dimension_id: "g", types: ["conversionrate", "actualreach"] },
  { dimension: "stream", dimension_id: "never written", types: ["size"] },
];
const written = [
  ["stream", "web", "size"],
  ["segment", "s1", "size"],
  ["experience", "é 1", "actualreach"],
  ["experience", "é 1", "potentialreach"],
  ["experience", "é 1", "converted"],
  ["experiencegroup", "g", "actualreach"],
  ["experiencegroup", "g", "potentialreach"],
] as const;

const unit = fc.constantFrom("m", "h", "d", "w");
const interval = fc.oneof(
  fc.constantFrom("15m", "30m", "45m", "1h", "90m", "2h", "3h", "5h", "1d", "7d", "1w", "2w", "100h"),
  fc.tuple(fc.integer({ min: 1, max: 40 }), fc.constantFrom("h", "d", "w")).map(([n, u]) => `${n}${u}`),
  fc.constantFrom("1d", "1w", "1mo", "2mo", "1q", "1y"),
);
const timezone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kolkata");
const range = fc
  .tuple(fc.integer({ min: 1, max: 30 }), unit)
  .map(([n, u]) => `${n}${u}`)
  .chain((text) => fc.constantFrom(text, text, "1mo", "13mo", "1y"))
  .chain((text) => fc.constantFrom(text, `now-${text}`));

/** An absolute instant near the anchor, in one of its spellings. */
const absolute = (near: number) =>
  fc
    .record({
      ms: fc.oneof(
        fc.integer({ min: -20 * 24, max: 5 * 24 }).map((hours) => near + hours * HOUR),
        fc.integer({ min: -20 * DAY, max: 5 * DAY }).map((offset) => near + offset),
      ),
      spelling: fc.constantFrom("z", "none", "offset", "swallowed", "date", "ms", "ms number", "s", "lower"),
      offset: fc.integer({ min: -14 * 60, max: 14 * 60 }),
    })
    .map(({ ms, spelling, offset }) => spell(ms, spelling, offset));

function spell(ms: number, spelling: string, offset: number): string | number {
  const iso = new Date(ms).toISOString();
  if (spelling === "none") return iso.slice(0, -1);
  if (spelling === "lower") return iso.toLowerCase();
  if (spelling === "date") return iso.slice(0, 10);
  if (spelling === "ms") return String(ms);
  if (spelling === "ms number") return ms;
  if (spelling === "s") return String(Math.floor(ms / 1000));
  if (spelling === "z") return iso;
  const sign = spelling === "swallowed" ? " " : offset < 0 ? "-" : "+";
  const minutes = Math.abs(offset);
  const local = new Date(ms + (sign === "-" ? -minutes : minutes) * MINUTE).toISOString().slice(0, -1);
  return `${local}${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

const start = (near: number) =>
  fc.oneof(
    absolute(near),
    fc.constant("now"),
    range.map((text) => `now-${text.replace("now-", "")}`),
  );

const request = (near: number): fc.Arbitrary<OracleRequest> =>
  fc
    .constantFrom(...series)
    .chain(({ types, ...names }) =>
      fc.record(
        {
          names: fc.constantFrom(...types).map((dimension_type) => ({ ...names, dimension_type })),
          rest: fc.record(
            {
              interval,
              timezone,
              aggregation: fc.constantFrom("sum", "max", "min"),
              include_empty_rows: fc.boolean(),
              smooth: fc.boolean(),
            },
            { requiredKeys: [] },
          ),
          window: fc.oneof(
            fc.record({ range }, { requiredKeys: [] }),
            fc.record({ startdate: start(near), enddate: start(near) }, { requiredKeys: [] }),
          ),
        },
        { requiredKeys: ["names", "rest", "window"] },
      ),
    )
    .map((parts) => ({ ...parts.names, ...parts.rest, ...parts.window }))
    // Intervals of minutes over weeks, months or years would be more buckets than a series may have.
    .filter(({ interval = "", ...window }) => !/\dm$/.test(interval) || !/\d(w|mo|y)"/.test(JSON.stringify(window)));

const point = (now: number): fc.Arbitrary<OraclePoint> =>
  fc
    .record({
      names: fc.constantFrom(...written),
      ts: fc.oneof(
        fc.integer({ min: 0, max: 72 }).map((hours) => now - hours * HOUR),
        fc.integer({ min: -10 * MINUTE, max: 40 * DAY }).map((ago) => now - ago),
      ),
      value: fc.oneof(fc.integer({ min: -50, max: 1000 }), fc.constantFrom(0, 0.1, 1e-9, -7.25)),
    })
    .map(({ names: [dimension, dimension_id, dimension_type], ts, value }) => ({
      dimension,
      dimension_id,
      dimension_type,
      ts,
      value,
    }));

interface Series {
  aggregation: string;
  interval: string;
  range: string;
  values: { value: number; ts: string }[];
  errors?: { code: string }[];
}

describe("metric responses and a second implementation", function () {
  this.timeout(120_000);

  it("agree on 2,000 random series, before and after late writes", async () => {
    for (const [i, anchor] of anchors.entries()) await compareAround(anchor, SEED + 10 * i);
  });

  /** Three rounds of writes, each followed by batches of requests as of another instant. */
  async function compareAround(anchor: number, seed: number): Promise<void> {
    let now = anchor;
    const limits = { response_values: 10_000_000 };
    const service = await startService({ limits }, { clock: () => now });
    const points: OraclePoint[] = [];
    for (const round of [0, 1, 2]) {
      now += Math.floor((round * 37 + (seed % 97)) * 61_007.5);
      const late =
        fc.sample(fc.array(point(now), { minLength: 60, maxLength: 120 }), { numRuns: 1, seed: seed + round })[0] ?? [];
      await write(service, late);
      points.push(...late);
      const batches = fc.sample(fc.array(request(anchor), { minLength: 38, maxLength: 38 }), {
        numRuns: 3,
        seed: seed + round,
      });
      for (const batch of batches) await compare(service, points, batch, now);
      for (const batch of batches) await compare(service, points, batch, now);
    }
  }
});

async function write(service: TestService, points: readonly OraclePoint[]): Promise<void> {
  const answer = await service.fetch("/api/metric/points", { method: "POST", json: points });
  expect(answer.status, await answer.text()).to.equal(200);
}

async function compare(
  service: TestService,
  points: readonly OraclePoint[],
  batch: readonly OracleRequest[],
  now: number,
) {
  const answer = await service.fetch("/api/metric", { method: "POST", json: batch });
  expect(answer.status).to.equal(200);
  const { data } = (await answer.json()) as { data: Series[] };
  expect(data).to.have.length(batch.length);
  for (const [i, request] of batch.entries()) {
    const expected = oracle(points, request, now);
    const { aggregation, interval, range, values, errors } = data[i] as Series;
    const shown = `${JSON.stringify(request)} as of ${new Date(now).toISOString()}`;
    if (expected === "refused") expect(errors?.[0]?.code, shown).to.equal("end_before_start");
    else expect({ aggregation, interval, range, values }, shown).to.deep.equal(expected);
  }
}
