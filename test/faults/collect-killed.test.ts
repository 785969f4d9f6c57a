import { request } from "node:http";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { processSet } from "../support/process-set.js";
import { type RealService, startReal } from "../support/real-service.js";
import { onServers } from "../support/servers.js";
import { adminKey } from "../support/service.js";
import { until } from "../support/until.js";

const key = { "idempotency-key": "once", "content-type": "application/x-ndjson" };
const lines = (count: number) => Array.from({ length: count }, (_, i) => `{"_uid":"u${i}","x":${i}}\n`).join("");

/** Messages counted so far. */
async function counted(service: RealService): Promise<number> {
  const { data } = (await (await service.fetch("/api/stream")).json()) as {
    data: { slot: { count: number }; day: number }[];
  };
  return data.reduce((sum, { slot, day }) => sum + slot.count + day, 0);
}

/** Sends a body with a key up to its 700th message, and kills the process when a part of it is counted. */
async function killInMidRequest(service: RealService): Promise<void> {
  const headers = { authorization: adminKey, ...key };
  const sending = request(`${service.url}/collect/json/web`, { method: "POST", headers }).on("error", () => {});
  sending.write(lines(700));
  await until("the first batch is counted", async () => (await counted(service)) === 500);
  await service.kill();
}

/** Sends the whole body under the same key, once. */
async function repeat(service: RealService): Promise<{ status: number; taken: number | undefined }> {
  const response = await service.fetch("/collect/json/web", { method: "POST", body: lines(900), headers: key });
  const { data } = (await response.json()) as { data: { message_count: number } | null };
  return { status: response.status, taken: data?.message_count };
}

describe("a request with an Idempotency-Key whose process was killed", function () {
  this.timeout(60_000);

  it("is processed if it is repeated at once, and each message is counted once", async () => {
    const dir = dataFolder();
    let service = await startReal(dir);
    await killInMidRequest(service);
    service = await startReal(dir);
    for (let times = 0; times < 2; times += 1) {
      expect(await repeat(service)).to.deep.equal({ status: 200, taken: 900 });
      expect(await counted(service)).to.equal(900);
    }
  });
});

onServers(["mongodb", "influxdb", "bullmq"], "a request with an Idempotency-Key whose process was killed", function () {
  this.timeout(60_000);

  it("is processed by another process if it is repeated at once, and each message is counted once", async () => {
    const set = await processSet();
    const [first, second] = await Promise.all([set.start("api"), set.start("api")]);
    await killInMidRequest(first);
    expect(await repeat(second)).to.deep.equal({ status: 200, taken: 900 });
    expect(await counted(second)).to.equal(900);
  });
});
