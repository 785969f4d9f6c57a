import { expect } from "chai";
import { HOURLY, type TickSchedule } from "../../src/stores/bullmq/ticks.js";
import type { JobEngine } from "../../src/stores/stores.js";
import { openLoneJobs } from "../support/redis-jobs.js";
import { type RedisServer, startRedis } from "../support/redis-server.js";
import { onServers } from "../support/servers.js";
import { until } from "../support/until.js";

const EACH_SECOND: TickSchedule = { pattern: "* * * * * *", lookMs: 200 };

onServers(["bullmq"], "ticks as scheduled jobs", () => {
  let redis: RedisServer;
  const open: JobEngine[] = [];
  const jobs = async (ticks = HOURLY) => {
    const engine = await openLoneJobs({ server: redis.url, prefix: "jobs", ticks });
    open.push(engine);
    return engine;
  };

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((engine) => engine.close()));
    await redis.close();
  });

  const schedule = () => redis.ask((client) => client.hgetall("jobs:ticks:repeat:recorder"));
  const isScheduled = async () => (await schedule()).pattern !== undefined;

  it("come at each full hour, UTC", async () => {
    const { ticks } = await jobs();
    ticks.listen(() => {});
    await until("it is scheduled", isScheduled);
    expect(await schedule()).to.include({ pattern: "0 * * * *", tz: "UTC" });
    const next = await redis.ask((client) => client.zscore("jobs:ticks:repeat", "recorder"));
    expect(Number(next) % 3_600_000).to.equal(0);
  });

  it("are taken by one of the processes that listen", async () => {
    let ticked = 0;
    for (const { ticks } of await Promise.all([jobs(EACH_SECOND), jobs(EACH_SECOND)])) {
      ticks.listen(() => {
        ticked += 1;
      });
    }
    const started = performance.now();
    await until("some have come", () => ticked >= 3);
    expect(performance.now() - started).to.be.above(1_500);
  });

  for (const [what, lose] of [
    ["emptied", () => redis.ask((client) => client.flushall())],
    ["killed and started without anything", () => redis.kill().then(() => redis.start())],
  ] as const) {
    it(`come again after the server was ${what}`, async () => {
      const { ticks } = await jobs(EACH_SECOND);
      let ticked = 0;
      ticks.listen(() => {
        ticked += 1;
      });
      await until("one has come", () => ticked > 0);
      await lose();
      await until("it is scheduled again", isScheduled);
      const before = ticked;
      await until("more come", () => ticked > before + 1);
    });
  }

  it("are scheduled when the server comes after the process, and stop when they are closed", async () => {
    await redis.kill();
    const { ticks, close } = await jobs(EACH_SECOND);
    let ticked = 0;
    ticks.listen(() => {
      ticked += 1;
    });
    await redis.start();
    await until("one has come", () => ticked > 0);
    await ticks.close();
    const before = ticked;
    await close();
    expect(ticked).to.equal(before);
  });
});
