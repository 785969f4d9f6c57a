import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { nameOf, onServers, redisUrl } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const OPEN = 40;
/** A database of Redis that no other test uses, so that all of it can go. */
const DATABASE = 13;

onServers(["mongodb", "influxdb", "bullmq"], "P6, P9: Redis that forgets everything", function () {
  this.timeout(300_000);
  let redis: Redis;
  let api: TestService;
  let worker: TestService | undefined;

  before(async () => {
    const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
    redis = new Redis(jobsUrl(dir));
    api = await startService({ jobs: { url: jobsUrl(dir) }, roles: ["api"] }, { onServers: true, dir });
    worker = undefined;
    const lines = Array.from({ length: OPEN }, (_, index) => JSON.stringify({ email: `p${index}@example.org` }));
    const headers = { "content-type": "application/x-ndjson" };
    expect((await api.fetch("/collect/json/web", { method: "POST", headers, body: lines.join("\n") })).status).to.equal(
      200,
    );
  });
  after(async () => {
    await worker?.stop({ keep: true });
    await api.stop();
    await redis.flushdb();
    redis.disconnect();
  });

  it(`with ${OPEN} deletions open delays them and loses none`, async () => {
    const ids: string[] = [];
    for (let index = 0; index < OPEN; index += 1) {
      const answer = await api.fetch(`/api/entity/user/email/p${index}@example.org`, { method: "DELETE" });
      expect(answer.status).to.equal(200);
      ids.push(((await answer.json()) as { data: { request_id: string } }).data.request_id);
    }
    await redis.flushdb();
    worker = await startService(
      { jobs: { url: jobsUrl(api.dir) }, roles: ["worker"] },
      { onServers: true, dir: api.dir },
    );
    await redis.flushdb();
    for (const id of ids) {
      await until("it is complete", () => isComplete(id), 60_000);
      await redis.flushdb();
    }
    for (let index = 0; index < OPEN; index += 1) {
      expect((await api.fetch(`/api/entity/user/email/p${index}@example.org`)).status).to.equal(404);
    }
  });

  it("still carries what is asked for afterwards", async () => {
    const answer = await api.fetch("/api/entity/user/email/later@example.org", { method: "DELETE" });
    const { data } = (await answer.json()) as { data: { request_id: string } };
    await until("it is complete", () => isComplete(data.request_id), 60_000);
    await until("both are ready", async () => {
      const answers = await Promise.all([api, worker as TestService].map((service) => service.fetch("/ready")));
      return answers.every(({ status }) => status === 200);
    });
  });

  async function isComplete(id: string): Promise<boolean> {
    const answer = await api.fetch(`/api/entity/deletestatus/${id}`);
    expect(answer.status).to.equal(200);
    return ((await answer.json()) as { data: { completed: boolean } }).data.completed;
  }
});

function jobsUrl(dir: string): string {
  const url = new URL(process.env.TEST_REDIS_URL ?? "");
  url.pathname = `/${DATABASE}`;
  return redisUrl(nameOf(dir), url.href);
}
