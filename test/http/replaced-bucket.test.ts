import { expect } from "chai";
import { ask, describeBucket, makeBucket } from "../stores/influxdb/bucket.js";
import { dropBucket } from "../support/drop-from-servers.js";
import { influxdbToken, influxdbUrl, onServers, ownName } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const series = { dimension: "stream", dimension_id: "a", dimension_type: "size" };

onServers(["influxdb"], "a service whose bucket is deleted", () => {
  const bucket = ownName();
  let service: TestService;

  before(async () => {
    service = await startService({ metrics: { url: influxdbUrl(bucket), token: influxdbToken() } });
  });
  after(async () => {
    await service.stop();
    await dropBucket(bucket);
  });

  async function read(range: string): Promise<{ is_cached: boolean; values: number[] } | undefined> {
    const answer = await service.fetch(`/api/metric?${new URLSearchParams({ ...series, range })}`);
    const { data } = (await answer.json()) as { data: { is_cached: boolean; values: { value: number }[] }[] };
    return data.map(({ is_cached, values }) => ({ is_cached, values: values.map(({ value }) => value) }))[0];
  }
  /** Where processes share the stores, a response is only kept once the end of the last write is known. */
  async function untilCached(range: string, values: readonly number[]): Promise<void> {
    await until("a response from memory", async () => (await read(range))?.is_cached === true);
    expect((await read(range))?.values).to.deep.equal(values);
  }
  const write = (value: number, hoursAgo: number) => {
    const json = [{ ...series, value, ts: Date.now() - hoursAgo * 3_600_000 }];
    return service.fetch("/api/metric/points", { method: "POST", json });
  };

  /** Cached points of a store that other programs may change expire. */
  const untilRead = (range: string, values: readonly number[]) =>
    until("the points of the new bucket", async () => String((await read(range))?.values) === String(values), 20_000);

  it("returns no point of the old bucket once cached points have expired", async () => {
    await write(1, 30);
    expect(await read("2d")).to.deep.equal({ is_cached: false, values: [1] });
    await untilCached("2d", [1]);
    await ask("DELETE", `/api/v2/buckets/${(await describeBucket(bucket))?.id}`);
    await makeBucket(bucket, 0);
    expect((await service.fetch("/ready")).status).to.equal(200);
    await untilRead("2d", []);
    expect((await read("3d"))?.values).to.deep.equal([]);
  });

  it("returns no point of the old bucket after a write has created the new one", async () => {
    await write(1, 30);
    expect((await read("2d"))?.values).to.deep.equal([1]);
    await ask("DELETE", `/api/v2/buckets/${(await describeBucket(bucket))?.id}`);
    expect((await write(2, 0)).status).to.equal(200);
    await untilRead("2d", [2]);
  });
});
