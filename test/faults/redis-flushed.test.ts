import { expect } from "chai";
import { Redis } from "ioredis";
import { dataFolder } from "../support/data-folder.js";
import { collectThrough, isCompleteIn, removeThrough, statusOfProfile } from "../support/requests.js";
import { nameOf, onServers, redisUrl } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const OPEN = 40;
/** A database of Redis that no other test uses, so that it can be flushed. */
const DATABASE = 13;

onServers(["mongodb", "influxdb", "bullmq"], "P6, P9: a FLUSHALL of Redis", function () {
  this.timeout(300_000);
  let redis: Redis;
  let api: TestService;
  let worker: TestService | undefined;

  before(async () => {
    const dir = dataFolder();
    redis = new Redis(jobsUrl(dir));
    api = await startService({ jobs: { url: jobsUrl(dir) }, roles: ["api"] }, { onServers: true, dir });
    worker = undefined;
    await collectThrough(
      api,
      Array.from({ length: OPEN }, (_, index) => ({ email: `p${index}@example.org` })),
    );
  });
  after(async () => {
    await worker?.stop({ keep: true });
    await api.stop();
    await redis.flushdb();
    redis.disconnect();
  });

  it(`delays ${OPEN} open deletions and loses none`, async () => {
    const ids: string[] = [];
    for (let index = 0; index < OPEN; index += 1) {
      ids.push(await removeThrough(api, `email/p${index}@example.org`));
    }
    await redis.flushdb();
    worker = await startService(
      { jobs: { url: jobsUrl(api.dir) }, roles: ["worker"] },
      { onServers: true, dir: api.dir },
    );
    await redis.flushdb();
    for (const id of ids) {
      await until("it is complete", () => isCompleteIn(api, id), 60_000);
      await redis.flushdb();
    }
    for (let index = 0; index < OPEN; index += 1) {
      expect(await statusOfProfile(api, `email/p${index}@example.org`)).to.equal(404);
    }
  });

  it("leaves both processes ready to complete a later deletion", async () => {
    const id = await removeThrough(api, "email/later@example.org");
    await until("it is complete", () => isCompleteIn(api, id), 60_000);
    await until("both are ready", async () => {
      const answers = await Promise.all([api, worker as TestService].map((service) => service.fetch("/ready")));
      return answers.every(({ status }) => status === 200);
    });
  });
});

function jobsUrl(dir: string): string {
  const url = new URL(process.env.TEST_REDIS_URL ?? "");
  url.pathname = `/${DATABASE}`;
  return redisUrl(nameOf(dir), url.href);
}
