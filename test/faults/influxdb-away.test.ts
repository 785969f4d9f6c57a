import { expect } from "chai";
import { dropBucket } from "../support/drop-from-servers.js";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { influxdbToken, influxdbUrl, onServers, ownName } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const DAY = Date.UTC(2024, 5, 1);

/** The longest that a store may take, and that a caller then waits, ms. */
const DEADLINE = 1_000;

onServers(["influxdb"], "a service whose InfluxDB", () => {
  const bucket = ownName();
  let proxy: FaultProxy;
  let service: TestService;

  before(async () => {
    proxy = await openFaultProxy(process.env.TEST_INFLUXDB_URL ?? "");
    service = await start();
    await post("/collect/json/web", [{ _uid: "ann", name: "Ann" }]);
    await service.fetch("/api/segment/s1", { method: "PUT", json: { name: "Zebras" } });
  });
  after(async () => {
    await service.stop();
    await proxy.close();
    await dropBucket(bucket);
  });

  afterEach(() => proxy.set("pass"));

  const start = (dir?: string) =>
    startService(
      {
        metrics: { url: influxdbUrl(bucket, proxy.url()), token: influxdbToken() },
        limits: { store_deadline_ms: DEADLINE },
      },
      dir === undefined ? {} : { dir },
    );

  interface Answer {
    readonly status: number;
    readonly retryAfter: number;
    readonly body: { status: number; data: unknown };
  }

  async function ask(path: string, init: Parameters<TestService["fetch"]>[1] = {}): Promise<Answer> {
    const response = await service.fetch(path, init);
    const body = (await response.json()) as Answer["body"];
    const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
    return { status: response.status, retryAfter, body };
  }

  const post = (path: string, json: unknown) => ask(path, { method: "POST", json });
  const write = (id: string, values: readonly number[]) => {
    const point = { dimension: "stream", dimension_id: id, dimension_type: "size" };
    const points = values.map((value, i) => ({ ...point, ts: DAY + i * HOUR, value }));
    return post("/api/metric/points", points);
  };
  const read = (id: string, hours = 24) => {
    const end = new Date(DAY + hours * HOUR).toISOString();
    const window = `startdate=2024-06-01T00:00:00Z&enddate=${end}&interval=1h`;
    return ask(`/api/metric?dimension=stream&dimension_id=${id}&dimension_type=size&${window}`);
  };
  const valuesOf = ({ body }: Answer) =>
    (body.data as [{ values: { value: number }[] }])[0].values.map(({ value }) => value);

  function isUnavailable(answer: Answer): void {
    expect(answer).to.include({ status: 503 });
    expect(answer.body).to.include({ status: 503, data: null });
    expect(answer.retryAfter).to.be.at.least(1);
  }

  /** Everything that needs no series works as ever. */
  async function othersAreUnaffected(): Promise<void> {
    const paths = ["/api/me/_uid/ann", "/api/segment", "/health", "/ready"];
    const answers = await Promise.all(paths.map((path) => ask(path)));
    for (const [i, { status }] of answers.entries()) expect(status, paths[i]).to.equal(200);
    expect((await post("/collect/json/web", [{ _uid: "u1" }])).status).to.equal(200);
    expect((await ask("/api/entity/user/_uid/u1", { method: "DELETE" })).status).to.equal(200);
    const ready = answers[3]?.body.data;
    expect(ready).to.include({ ready: true, degraded: true });
    expect(ready).to.have.property("stores").that.deep.includes({ name: "metrics", required: false, state: "down" });
  }

  it("has stopped answers 503 in time to requests that need series, and serves the others", async () => {
    const [known, other] = ["known", "other"];
    await write(known, [1, 2]);
    await write(other, [3, 4]);
    expect(valuesOf(await read(known))).to.deep.equal([1, 2]);

    await proxy.set("refuse");
    const cached = await read(known);
    expect(cached.status).to.equal(200);
    expect(valuesOf(cached)).to.deep.equal([1, 2]);
    expect((cached.body.data as [{ is_cached: boolean }])[0].is_cached).to.equal(true);
    isUnavailable(await read(other));
    isUnavailable(await write(other, [5, 6]));
    await othersAreUnaffected();
    isUnavailable(await read(other));

    await proxy.set("pass");
    await until("it is back", async () => (await write(other, [7, 8])).status === 200);
    // A read may share one that began before, and fail with it.
    await until("it is read", async () => (await read(other)).status === 200);
    expect(valuesOf(await read(other))).to.deep.equal([7, 8]);
    expect(valuesOf(await read(known))).to.deep.equal([1, 2]);
  });

  it("stops in the middle of many rows answers 503, never with missing values", async () => {
    const values = Array.from({ length: 2_000 }, (_, i) => Math.sin(i));
    await write("many", values);
    for (const bytes of [1_000, 5_000, 12_000]) {
      await proxy.set({ truncate: bytes });
      isUnavailable(await read("many", 2_000));
    }
    await proxy.set({ slow: 1_000 });
    isUnavailable(await read("many", 2_000));
    await proxy.set("pass");
    // A read joins an earlier one in progress, which may take a little longer than its caller waited.
    await until("it is back", async () => (await read("many", 2_000)).status === 200);
    expect(valuesOf(await read("many", 2_000))).to.deep.equal(values);
  });

  it("loses the response to one write sends it again, and acknowledges it when it is stored", async () => {
    const lost = proxy.when("POST /api/v2/write", "dropAnswers");
    expect((await write("lost-ack", [1, 2, 3])).status).to.equal(200);
    await lost;
    expect(valuesOf(await read("lost-ack"))).to.deep.equal([1, 2, 3]);
  });

  it("does not respond ends the work of disconnected callers at its deadline", async () => {
    await proxy.set("blackhole");
    const left = new AbortController();
    const gone = Array.from({ length: 40 }, (_, i) => {
      const query = `dimension=stream&dimension_id=gone-${i}&dimension_type=size`;
      return service.fetch(`/api/metric?${query}`, { signal: left.signal }).catch(() => "gone");
    });
    await until("some are under way", () => proxy.connections > 10);
    left.abort();
    expect(new Set(await Promise.all(gone))).to.deep.equal(new Set(["gone"]));
    proxy.reset();
    await proxy.set("pass");
    await until("nothing is under way", async () => {
      const text = await (await service.fetch("/metrics")).text();
      return Number(/http_requests_under_way (\d+)/.exec(text)?.[1]) <= 1;
    });
    await until("no connection but idle ones is left", () => proxy.connections <= 64);
    await until("a read joins no abandoned one", async () => (await read("gone-1")).status === 200);
  });

  it("is unreachable at the start of the service, which starts and reconnects by itself", async () => {
    await service.stop({ keep: true });
    await proxy.set("refuse");
    service = await start(service.dir);
    isUnavailable(await read("lost-ack"));
    expect((await ask("/api/me/_uid/ann")).status).to.equal(200);
    await proxy.set("pass");
    expect(valuesOf(await read("lost-ack"))).to.deep.equal([1, 2, 3]);
  });
});
