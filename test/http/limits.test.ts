import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { randomId } from "../../src/ids.js";
import { cpuMs } from "../support/cpu-time.js";
import { type FetchOptions, serviceOfSuite } from "../support/service.js";

const now = Date.parse("2024-02-29T10:00:00Z");
const HOUR = 3_600_000;
const MIB = 1_048_576;

type Request = readonly [path: string, options?: FetchOptions];

/**
 * A limit: its subject, its value, a request of a size, the status and code of a request above it, and whether the
 * catalogue has as many segments.
 */
type Limit = readonly [
  of: string,
  value: number,
  request: (size: number) => Request,
  status: number,
  code: string,
  ofSegments?: true,
];

const json = { "content-type": "application/json" };
const ndjson = { "content-type": "application/x-ndjson" };
const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = json): Request => [
  path,
  { method: "POST", body, headers },
];

const names = { dimension: "stream", dimension_id: "web", dimension_type: "size" };
const point = JSON.stringify({ ...names, ts: now, value: 1 });
const line = `stream,dimension_id=web value=1 ${now}`;

/** Each route that takes a body, with a small good one; blanks after it change nothing. */
const bodies: readonly [
  of: string,
  bytes: number,
  request: (body: (good: string) => string | Uint8Array) => Request,
][] = [
  ["series to fetch", MIB, (body) => post("/api/metric", body(JSON.stringify(names)))],
  ["a segment", MIB, (body) => ["/api/segment/a", { method: "PUT", body: body('{"name":"a"}'), headers: json }]],
  ["points", 16 * MIB, (body) => post("/api/metric/points", body(`[${point}]`))],
  ["lines of points", 16 * MIB, (body) => post("/api/metric/points", body(point), ndjson)],
  [
    "line protocol",
    16 * MIB,
    (body) => post("/api/v2/write?precision=ms", body(line), { "content-type": "text/plain" }),
  ],
  ["messages", 16 * MIB, (body) => post("/collect/json/web", body('[{"_uid":"ann"}]'))],
  ["lines of messages", Number.POSITIVE_INFINITY, (body) => post("/collect/json/web", body('{"_uid":"ann"}'), ndjson)],
];

const padded = (bytes: number) => (good: string) => good + "\n".repeat(bytes - good.length);

/** A body in gzip of a number of bytes, made `compressed` bytes long by a file name in its head. */
const inflating = (bytes: number, compressed?: number) => (good: string) => {
  const small = gzipSync(padded(bytes)(good), { level: 9 });
  if (compressed === undefined) return small;
  const head = Buffer.from(small.subarray(0, 10));
  head[3] = 8;
  const name = Buffer.alloc(compressed - small.length, "n");
  name[name.length - 1] = 0;
  return Buffer.concat([head, name, small.subarray(10)]);
};
const inGzip = ([path, options]: Request): Request => [
  path,
  { ...options, headers: { ...options?.headers, "content-encoding": "gzip" } },
];

/** A series over whole hours that end now. */
const item = (hours: number, rest: object = {}) => ({
  ...names,
  interval: "1h",
  startdate: now - hours * HOUR,
  include_empty_rows: true,
  ...rest,
});
const fetchAll = (items: readonly object[]) => post("/api/metric", JSON.stringify(items));
const wide = (hours: number, i: number) =>
  item(hours, { dimension_id: `s${i}`, interval: "1000h", include_empty_rows: false });
const rate = (hours: number, i: number) => ({
  ...wide(hours, i),
  dimension: "experience",
  dimension_type: "conversionrate",
});
const every = { dimension: "segsize", dimension_id: "all_segments", dimension_type: "size" };
const times = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

const limits: readonly Limit[] = [
  ["bytes of a URL", 8_192, (size) => ["/health?a=".padEnd(size, "a")], 414, "address_too_long"],
  [
    "query parameters",
    32,
    (size) => [`/health?${times(size, (i) => `p${i}=1`).join("&")}`],
    400,
    "too_many_parameters",
  ],
  ["bytes of an identity", 1_024, (size) => [`/api/entity/user/user_id/${"a".repeat(size)}`], 400, "identity_too_long"],
  [
    "bytes of an identity in UTF-8",
    1_024,
    (size) => [`/api/entity/user/user_id/${"a".repeat(size % 2)}${"ü".repeat(Math.floor(size / 2))}`],
    400,
    "identity_too_long",
  ],
  [
    "levels of a body",
    16,
    (size) => post("/api/metric", `[${JSON.stringify(names)},${nested(size - 1)}]`),
    400,
    "too_deep",
  ],
  [
    "levels of a message",
    16,
    (size) => post("/collect/json/web", `{"_uid":"a","x":${nested(size - 1)}}`),
    400,
    "too_deep",
  ],
  [
    "bytes of a line",
    65_536,
    (size) => post("/collect/json/web", `{"_uid":"a"}`.padEnd(size), ndjson),
    200,
    "too_long",
  ],
  ["series of a request", 100, (size) => fetchAll(times(size, () => item(1))), 413, "too_large"],
  ["buckets of a series", 11_000, (size) => post("/api/metric", JSON.stringify(item(size))), 400, "too_many_buckets"],
  [
    "values of a response",
    200_000,
    (size) => fetchAll([...times(99, () => item(2_000)), item(size - 99 * 2_000)]),
    400,
    "too_many_values",
  ],
  [
    "saved slots of a response",
    5_000_000,
    (size) => fetchAll(times(100, (i) => wide(i === 0 ? size - 99 * 50_000 : 50_000, i))),
    400,
    "too_many_slots",
  ],
  [
    "saved slots of a response with rates, each of two series",
    2_500_000,
    (size) => fetchAll(times(100, (i) => rate(i === 0 ? size - 99 * 25_000 : 25_000, i))),
    400,
    "too_many_slots",
  ],
  [
    "segments in a read of all",
    1_000,
    () => [`/api/metric?${new URLSearchParams({ ...every, range: "2h" })}`],
    400,
    "too_many_segments",
    true,
  ],
  ["segments in an item for all", 1_000, () => fetchAll([item(1), every]), 200, "too_many_segments", true],
  [
    "messages of an array",
    10_000,
    (size) => post("/collect/json/web?dryrun=true", `[${times(size, (i) => `{"_uid":"u${i}"}`)}]`),
    413,
    "too_large",
  ],
  [
    "points of a write",
    50_000,
    (size) => post("/api/metric/points", `[${times(size, () => point)}]`),
    413,
    "too_large",
  ],
  [
    "points of a write in lines",
    50_000,
    (size) => post("/api/metric/points", times(size, () => point).join("\n"), ndjson),
    413,
    "too_large",
  ],
  [
    "points of a block",
    50_000,
    (size) =>
      post(
        "/api/metric/points",
        JSON.stringify({ series: times(size, () => names), ts: [now], values: times(size, () => [1]) }),
      ),
    413,
    "too_large",
  ],
  [
    "times of a block",
    50_000,
    (size) =>
      post(
        "/api/metric/points",
        JSON.stringify({ series: [names], ts: times(size, () => now), values: [[1, ...times(size - 1, () => null)]] }),
      ),
    413,
    "too_large",
  ],
  [
    "points of a write in line protocol",
    50_000,
    (size) => post("/api/v2/write?precision=ms", times(size, () => line).join("\n"), { "content-type": "text/plain" }),
    413,
    "too_large",
  ],
  ...bodies.flatMap(([of, value, request]): Limit[] => [
    ...(value < Number.POSITIVE_INFINITY
      ? [[`bytes of a body of ${of}`, value, (size: number) => request(padded(size)), 413, "too_large"] as const]
      : []),
    [
      `bytes of 1,000 bytes of ${of} in gzip`,
      100_000,
      (size) => inGzip(request(inflating(size, 1_000))),
      413,
      "too_large",
    ],
    [`bytes of few bytes of ${of} in gzip`, 65_536, (size) => inGzip(request(inflating(size))), 413, "too_large"],
  ]),
];

describe("P15: the limit of", () => {
  const service = serviceOfSuite({}, { clock: () => now });

  /** The status of the response, and the code of its first error. */
  async function answerTo([path, options]: Request): Promise<readonly [status: number, code: string | undefined]> {
    const answer = await service.fetch(path, options);
    const text = await answer.text();
    const { data, errors = data?.errors ?? data?.at?.(-1)?.errors } = text === "" ? { data: null } : JSON.parse(text);
    return [answer.status, errors?.[0]?.code];
  }

  /** Adds or deletes segments until the catalogue has as many. */
  async function fill(most: number): Promise<void> {
    const { catalogue } = service.service.stores;
    const ids = await catalogue.segmentIds(undefined, 10_000);
    for (const id of ids.slice(most)) await catalogue.deleteSegment(id, now);
    for (let i = ids.length; i < most; i += 1) await catalogue.putSegment({ id: randomId(), name: "s", table: "user" });
  }

  for (const [of, value, request, status, code, ofSegments] of limits) {
    it(`${of} is ${value.toLocaleString("en")}: one more is ${status} ${code}`, async () => {
      for (const size of [value - 1, value]) {
        if (ofSegments) await fill(size);
        const answer = await answerTo(request(size));
        expect(answer[1], `${size}`).to.not.equal(code);
        expect(answer[0], `${size}`).to.be.oneOf([200, 204, 404]);
      }
      if (ofSegments) await fill(value + 1);
      expect(await answerTo(request(value + 1))).to.deep.equal([status, code]);
    });
  }

  it("saved slots includes those before the window that smoothing reads", async () => {
    const smooth = times(100, (i) => ({ ...wide(50_000, i), smooth: true }));
    expect(await answerTo(fetchAll(smooth))).to.deep.equal([400, "too_many_slots"]);
  });

  it("buckets is checked without work: 31 million of them are refused at once", async () => {
    const spent = await cpuMs(async () => {
      const [, code] = await answerTo(fetchAll([item(1, { interval: "1m", startdate: "1966-01-01" })]));
      expect(code).to.equal("too_many_buckets");
    });
    expect(spent).to.be.below(500);
  });
});
