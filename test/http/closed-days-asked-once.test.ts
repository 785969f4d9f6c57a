import { expect } from "chai";
import { dropBucket } from "../support/drop-from-servers.js";
import { openRecordingProxy, type RecordingProxy } from "../support/recording-proxy.js";
import { influxdbToken, influxdbUrl, onEmbedded, onServers, ownName, PATIENT } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAYS = 40;
const start = Date.UTC(2024, 1, 28);
const ids = ["a", "b", "c", "d", "e"];

/** What a process that has its series in InfluxDB for itself asks of InfluxDB. */
const tests = () => {
  const bucket = ownName();
  let proxy: RecordingProxy;
  let service: TestService;

  before(async () => {
    proxy = await openRecordingProxy(process.env.TEST_INFLUXDB_URL ?? "");
    const metrics = { url: influxdbUrl(bucket, proxy.url), token: influxdbToken() };
    service = await startService({ metrics, limits: PATIENT.limits });
    const ts = Array.from({ length: DAYS * 24 }, (_, hour) => start + hour * HOUR);
    await write({ series: ids.map(nameOf), ts, values: ids.map((_, series) => ts.map((_, hour) => series + hour)) });
  });
  after(async () => {
    await service.stop();
    await proxy.close();
    await dropBucket(bucket);
  });

  const nameOf = (id: string) => ({ dimension: "stream", dimension_id: id, dimension_type: "size" });
  const send = async (path: string, init: Parameters<TestService["fetch"]>[1]) => {
    const response = await service.fetch(path, init);
    expect(response.status).to.equal(200);
    return (await response.json()) as { data: { values: { ts: string; value: number }[] }[] };
  };
  const write = (json: unknown) => send("/api/metric/points", { method: "POST", json });

  const windowOf = ([from, to]: readonly [number, number], interval: string, aggregation: string) => ({
    startdate: String(start + from * DAY),
    enddate: String(start + to * DAY),
    interval,
    aggregation,
  });
  /** Asks for days [from, to) of some series; resolves with their values. */
  const ask = async (days: readonly [number, number], some = ids, interval = "6h", aggregation = "max") => {
    const json = some.map((id) => ({ ...nameOf(id), ...windowOf(days, interval, aggregation) }));
    return (await send("/api/metric", { method: "POST", json })).data.map(({ values }) =>
      values.map(({ value }) => value),
    );
  };

  /** The queries that `work` leads to: the days that each asks for, and of which series. */
  async function queriesOf(work: () => Promise<unknown>): Promise<{ from: number; to: number; series: string }[]> {
    proxy.requests.length = 0;
    await work();
    return proxy.requests
      .filter(({ method, path }) => method === "POST" && path.startsWith("/api/v2/query"))
      .map(({ body }) => {
        const script = (JSON.parse(body) as { query: string }).query;
        const [from = 0, to = 0] = [...script.matchAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g)].map(
          ([time]) => (Date.parse(time) - start) / DAY,
        );
        const asked = [...script.matchAll(/dimension_id == "(.)"/g)].map(([, id]) => id);
        return { from, to, series: asked.join("") };
      });
  }

  it("asks once for the days of a window, and never again whatever is made of them", async () => {
    expect(await queriesOf(() => ask([5, 35]))).to.deep.equal([{ from: 5, to: 35, series: "abcde" }]);
    const again = await queriesOf(async () => {
      await ask([5, 35]);
      await ask([5, 35], ["c"], "24h", "sum");
      await ask([12, 19], ["b", "e"], "2h", "sum");
      for (const id of ids) {
        const query = new URLSearchParams({ ...nameOf(id), ...windowOf([6, 34], "24h", "min") });
        await send(`/api/metric?${query}`, {});
      }
    });
    expect(again).to.deep.equal([]);
  });

  it("asks of a wider window only for the days that it does not know", async () => {
    const wider = await queriesOf(() => ask([0, 40], ["a", "b"]));
    expect(wider).to.have.deep.members([
      { from: 0, to: 5, series: "ab" },
      { from: 35, to: 40, series: "ab" },
    ]);
    expect(await queriesOf(() => ask([0, 40], ["a"], "24h", "sum"))).to.deep.equal([]);
  });

  for (const written of [10, 26, 34]) {
    it(`asks again for day ${written} of the series alone that a write to it names`, async () => {
      await ask([5, 35]);
      await write([{ ...nameOf("b"), ts: start + written * DAY + 7 * HOUR, value: 5_000 + written }]);
      let values: number[][] = [];
      const queries = await queriesOf(async () => {
        await ask([5, 35], ["a", "c", "d", "e"], "24h", "max");
        values = await ask([5, 35], ids, "24h", "max");
      });
      expect(queries).to.deep.equal([{ from: written, to: written + 1, series: "b" }]);
      expect(values[1]?.[written - 5]).to.equal(5_000 + written);
      expect(await queriesOf(() => ask([5, 35]))).to.deep.equal([]);
    });
  }
};

onEmbedded("a service with embedded profiles", () => onServers(["influxdb"], "and its series in InfluxDB", tests));
