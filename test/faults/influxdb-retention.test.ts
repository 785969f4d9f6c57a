import { expect } from "chai";
import { shortenRetention } from "../stores/influxdb/bucket.js";
import { dropBucket } from "../support/drop-from-servers.js";
import { collectThrough, valuesOf } from "../support/requests.js";
import { influxdbToken, influxdbUrl, onServers, ownName } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;

onServers(["influxdb"], "a service whose bucket keeps points for two hours", () => {
  const bucket = ownName();
  let service: TestService;
  before(async () => {
    service = await startService({ metrics: { url: influxdbUrl(bucket), token: influxdbToken() } });
  });
  after(async () => {
    await service.stop();
    await dropBucket(bucket);
  });

  const hoursAgo = (hours: number) => new Date(Date.now() - hours * HOUR).toISOString();
  const values = async () =>
    (await valuesOf(service, { dimension: "stream", dimension_id: "counted", range: "2d", interval: "1h" })).map(
      ([, value]) => value,
    );

  it("records counts of newer hours also if it has counts of older ones", async () => {
    await shortenRetention(bucket, 7_200);
    const messages = [5, 1].map((hours) => ({ _uid: `${hours}`, at: hoursAgo(hours) }));
    await collectThrough(service, messages, "counted?timestamp_field=at");
    await until("the newer count is saved", async () => (await values()).length === 1, 30_000);
    expect(await values()).to.deep.equal([1]);
  });
});
