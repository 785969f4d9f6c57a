import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect } from "chai";
import { Redis } from "ioredis";
import { systemClock } from "../../../src/clock.js";
import { StartError } from "../../../src/errors.js";
import { openLog } from "../../../src/log.js";
import { openBullmq } from "../../../src/stores/bullmq/index.js";
import { startRedis } from "../../support/redis-server.js";
import { onServers } from "../../support/servers.js";
import { settingsFor } from "../../support/service.js";
import { openRedisJobs } from "./redis-jobs.js";

onServers(["bullmq"], "Redis", () => {
  for (const [options, word] of [
    [["--appendonly", "yes", "--maxmemory-policy", "noeviction"], undefined],
    [["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"], "maxmemory-policy is allkeys-lru, not noeviction"],
    [["--appendonly", "no"], "appendonly is off"],
  ] as const) {
    it(`is ${word === undefined ? "up" : "degraded"} with ${options.join(" ")}`, async () => {
      const redis = await startRedis(...options);
      const { probes, close } = await openRedisJobs({ server: redis.url });
      expect(probes).to.have.length(1);
      expect(probes[0]).to.include({ name: "jobs", required: false });
      expect(await probes[0]?.check()).to.equal(word);
      await close();
      await redis.close();
    });
  }

  it("is used with the user, password, database and options of the URL", async () => {
    const redis = await startRedis();
    await redis.ask((client) => client.config("SET", "requirepass", "a-secret"));
    const url = new URL(redis.url);
    url.password = "a-secret";
    url.pathname = "/3";
    url.searchParams.set("connectionName", "named-by-a-test");
    const { dueNotifications, close } = await openRedisJobs({ server: url.href, prefix: "jobs" });
    const ran = new Promise<string>((resolve) => dueNotifications.listen(async (requestId) => resolve(requestId)));
    dueNotifications.send("one");
    expect(await ran).to.equal("one");
    const client = new Redis(redis.url, { password: "a-secret", db: 3 });
    expect(await client.keys("jobs:deletions:*")).to.not.deep.equal([]);
    expect(await client.client("LIST")).to.contain("named-by-a-test");
    client.disconnect();
    await close();
    await redis.close();
  });

  it("is opened without waiting for its connection", async () => {
    let accepted = 0;
    const frozen = createServer(() => {
      accepted += 1;
    }).listen(0, "127.0.0.1");
    await once(frozen, "listening");
    const server = `redis://127.0.0.1:${(frozen.address() as AddressInfo).port}`;
    const { close } = await openRedisJobs({ server, isAway: true });
    expect(accepted).to.equal(0);
    await close();
    frozen.close();
  });

  for (const [url, reason] of [
    ["redis://127.0.0.1:1/name", /database that is not a number/],
    ["redis://127.0.0.1:1/0?keyPrefix=a", /Use prefix instead/],
    ["redis://[", /not a URL/],
  ] as const) {
    it(`is refused with the URL ${url}`, async () => {
      const settings = settingsFor("unused", { jobs: { url } });
      const error = await openBullmq({ settings, log: openLog("silent"), clock: systemClock }).catch(
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(StartError);
      expect((error as StartError).message).to.match(reason);
    });
  }
});
