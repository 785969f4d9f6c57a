import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { type Fault, type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { influxdbUrl, mongodbUrl, nameOf, onServers } from "../support/servers.js";
import { type FetchOptions, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

/** The longest that a request may wait for stores, ms, and by how much its answer may be later. */
const DEADLINE_MS = 2_000;
const MARGIN_MS = 1_000;

/** Later requests wait for reads that earlier ones have begun. */
const WAVES = 4;
const WAVE_MS = DEADLINE_MS / 5;

const HOUR = 3_600_000;
const SLOT = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;

const series = (id: string) => ({ dimension: "stream", dimension_id: id, dimension_type: "size" });
const point = (id: string) => ({ ...series(id), value: 1, ts: SLOT });
const asked = (id: string) => ({
  ...series(id),
  interval: "1h",
  startdate: String(SLOT),
  enddate: String(SLOT + HOUR),
});
const lines = Array.from({ length: 3 }, (_, index) => JSON.stringify({ email: `line-${index}@example.org` })).join(
  "\n",
);

type Asked = readonly [what: string, path: string, options?: FetchOptions];

const ofPoints: readonly Asked[] = [
  ["points", "/api/metric/points", { method: "POST", json: [point("late")] }],
  [
    "line protocol",
    "/api/v2/write?precision=ms",
    { method: "POST", body: `stream,dimension_id=late value=1 ${SLOT}`, headers: { "content-type": "text/plain" } },
  ],
];
const needingMongo: readonly Asked[] = [
  ["a profile", "/api/entity/user/email/live@example.org"],
  ["no profile", "/api/entity/user/email/nobody@example.org"],
  ["why a profile is in its segments", "/api/entity/user/email/live@example.org/segments"],
  [
    "an export",
    "/api/entity/export",
    { method: "POST", json: { table: "user", field: "email", value: "live@example.org" } },
  ],
  ["a message", "/collect/json/web", { method: "POST", json: { email: "late@example.org" } }],
  [
    "lines of messages",
    "/collect/json/web",
    { method: "POST", body: lines, headers: { "content-type": "application/x-ndjson", "idempotency-key": "lines" } },
  ],
  ["a DELETE", "/api/entity/user/email/other@example.org", { method: "DELETE" }],
  ["a DELETE without a profile", "/api/entity/user/email/nobody@example.org", { method: "DELETE" }],
  ["the status of a deletion", "/api/entity/deletestatus/0123456789abcdef0123-1"],
  ["the open deletions", "/api/deletion"],
  ["the segments", "/api/segment"],
  ["a segment that is written", "/api/segment/late", { method: "PUT", json: { name: "Late", table: "user" } }],
  ["the experiences", "/api/experience"],
  ...ofPoints,
];
/** Requests that are served without MongoDB. */
const sparedByMongo: readonly Asked[] = [
  ["/health", "/health"],
  ["/metrics", "/metrics"],
  ["/openapi.json", "/openapi.json"],
  ["a series", `/api/metric?${new URLSearchParams(asked("cold"))}`],
];
/** Reads of series and names that are not cached. The list of streams also caches the names of their series. */
const needingInflux = (round: number): readonly Asked[] => [
  ["a series", `/api/metric?${new URLSearchParams(asked(`cold-${round}`))}`],
  ["a batch of series", "/api/metric", { method: "POST", json: [asked(`colder-${round}`), asked(`coldest-${round}`)] }],
  ["the names of series", `/api/series?dimension=${["segment", "experience", "experiencegroup", "stream"][round]}`],
  ...(round === 3 ? ([["the streams", "/api/stream"]] as const) : []),
  ...ofPoints,
];

const faults: readonly [how: string, fault: Fault][] = [
  ["has stopped", "refuse"],
  ["is silent", "blackhole"],
  ["stops reading", "stall"],
  ["sends one byte a second", { slow: 1 }],
];

interface Answer {
  readonly what: string;
  readonly status: number;
  /** Seconds; NaN without the header. */
  readonly retryAfter: number;
  readonly ms: number;
}

onServers(["mongodb", "influxdb", "bullmq"], "a service with a deadline for requests", function () {
  this.timeout(120_000);
  let mongodb: FaultProxy;
  let influxdb: FaultProxy;
  let service: TestService;

  before(async () => {
    mongodb = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
    influxdb = await openFaultProxy(process.env.TEST_INFLUXDB_URL ?? "");
    const dir = dataFolder();
    const overrides = {
      entities: { url: mongodb.url(mongodbUrl(nameOf(dir))) },
      metrics: { url: influxdbUrl(nameOf(dir), influxdb.url()) },
      limits: { store_deadline_ms: DEADLINE_MS },
    };
    service = await startService(overrides, { onServers: true, dir });
    await succeeds([
      "messages",
      "/collect/json/web",
      { method: "POST", json: [{ email: "live@example.org" }, { email: "other@example.org" }] },
    ]);
    await succeeds(["points", "/api/metric/points", { method: "POST", json: [point("cold")] }]);
  });
  after(async () => {
    await mongodb.set("pass");
    await influxdb.set("pass");
    await service.stop();
    await mongodb.close();
    await influxdb.close();
  });

  for (const [store, proxyOf, needing, spared] of [
    ["MongoDB", () => mongodb, () => needingMongo, sparedByMongo],
    ["InfluxDB", () => influxdb, needingInflux, []],
  ] as const) {
    for (const [round, [how, fault]] of faults.entries()) {
      it(`answers 503 in time to requests that need ${store} while it ${how}, serves the others, and then serves all again`, async () => {
        const requests = needing(round);
        await proxyOf().set(fault);
        try {
          const answers: Promise<Answer>[] = [];
          for (let wave = 0; wave < WAVES; wave += 1) {
            answers.push(...requests.map(answer));
            await sleep(WAVE_MS);
          }
          const wrong = (await Promise.all(answers)).filter(
            ({ status, retryAfter, ms }) => status !== 503 || !(retryAfter >= 1) || ms > DEADLINE_MS + MARGIN_MS,
          );
          expect(wrong).to.deep.equal([]);
          for (const request of spared) expect((await answer(request)).status, request[0]).to.equal(200);
        } finally {
          await proxyOf().set("pass");
        }
        for (const request of requests) await succeeds(request);
      });
    }
  }

  async function answer([what, path, options]: Asked): Promise<Answer> {
    const began = performance.now();
    const response = await service.fetch(path, { ...options, signal: AbortSignal.timeout(10 * DEADLINE_MS) });
    await response.arrayBuffer();
    const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
    return { what, status: response.status, retryAfter, ms: performance.now() - began };
  }

  async function succeeds(request: Asked): Promise<void> {
    const there = [200, 204, 404];
    let last = 0;
    await until(
      `${request[0]}`,
      async () => {
        last = (await answer(request)).status;
        return there.includes(last);
      },
      30_000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}: ${last}`);
    });
  }
});
