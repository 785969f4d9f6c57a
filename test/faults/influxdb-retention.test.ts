import { expect } from "chai";
import { makeBucket, shortenRetention } from "../stores/influxdb/bucket.js";
import { dropBucket } from "../support/drop-from-servers.js";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { influxdbToken, influxdbUrl, onServers, ownName } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const web = { dimension: "stream", dimension_id: "web", dimension_type: "size" };

onServers(["influxdb"], "a service whose bucket keeps points for two hours", () => {
  let bucket: string;
  let proxy: FaultProxy;
  let service: TestService;

  beforeEach(async () => {
    bucket = ownName();
    proxy = await openFaultProxy(process.env.TEST_INFLUXDB_URL ?? "");
  });
  afterEach(async () => {
    await service.stop();
    await proxy.close();
    await dropBucket(bucket);
  });

  const start = async () => {
    service = await startService({ metrics: { url: influxdbUrl(bucket, proxy.url()), token: influxdbToken() } });
  };
  const hoursAgo = (hours: number) => Date.now() - hours * HOUR;
  const write = (id: string, ...hours: number[]) =>
    service.fetch("/api/metric/points", {
      method: "POST",
      json: hours.map((each) => ({ ...web, dimension_id: id, ts: hoursAgo(each), value: each })),
    });
  const writeLines = (id: string, ...hours: number[]) =>
    service.fetch("/api/v2/write?precision=ms", {
      method: "POST",
      body: hours.map((each) => `stream,dimension_id=${id} value=${each} ${hoursAgo(each)}`).join("\n"),
    });
  const read = async (id: string) => {
    const query = new URLSearchParams({ ...web, dimension_id: id, range: "2d", interval: "1h" });
    const { data } = (await (await service.fetch(`/api/metric?${query}`)).json()) as {
      data: [{ values: { value: number }[] }];
    };
    return data[0].values.map(({ value }) => value);
  };
  const isRefused = async (answer: Response) => {
    expect(answer.status).to.equal(400);
    const { errors } = (await answer.json()) as { errors: { code: string }[] };
    expect(errors[0]?.code).to.equal("before_retention");
  };

  it("refuses a write with an older point as a whole, also before it knows of the retention", async () => {
    await makeBucket(bucket, 7_200);
    await proxy.set("refuse");
    await start();
    await proxy.set("pass");
    await isRefused(await write("web", 5, 0));
    await isRefused(await writeLines("lines", 5, 0));
    expect([await read("web"), await read("lines")]).to.deep.equal([[], []]);
    expect((await write("web", 0)).status).to.equal(200);
    expect(await read("web")).to.deep.equal([0]);
  });

  it("records counts of newer hours also if it has counts of older ones", async () => {
    await start();
    await shortenRetention(bucket, 7_200);
    const at = new Date(hoursAgo(1)).toISOString();
    const messages = [
      { id: "a", at: new Date(hoursAgo(5)).toISOString() },
      { id: "b", at },
    ].map(({ id, at }) => ({
      _uid: id,
      at,
    }));
    const collected = await service.fetch("/collect/json/counted?timestamp_field=at", {
      method: "POST",
      json: messages,
    });
    expect(collected.status).to.equal(200);
    await until("the newer count is saved", async () => (await read("counted")).length === 1, 30_000);
    expect(await read("counted")).to.deep.equal([1]);
  });
});
