import { expect } from "chai";
import type { JobEngine } from "../../../src/stores/stores.js";
import { dueNotificationsContract } from "../../contracts/due-notifications.contract.js";
import { type RedisServer, startRedis } from "../../support/redis-server.js";
import { onServers } from "../../support/servers.js";
import { until } from "../../support/until.js";
import { openRedisJobs } from "./redis-jobs.js";

onServers(["bullmq"], "due notifications as jobs of BullMQ", () => {
  dueNotificationsContract("bullmq", async () => {
    const { dueNotifications, close } = await openRedisJobs();
    return { dueNotifications, close };
  });

  describe("on a server of the test", () => {
    let redis: RedisServer;
    const open: JobEngine[] = [];
    const jobs = async ({ isAway = false } = {}) => {
      const engine = await openRedisJobs({ server: redis.url, prefix: "jobs", isAway });
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

    it("are received by one of several processes", async () => {
      const [api, ...workers] = await Promise.all([jobs(), jobs(), jobs()]);
      const ran: string[] = [];
      for (const { dueNotifications } of workers)
        dueNotifications.listen(async (requestId) => void ran.push(requestId));
      const notified = Array.from({ length: 40 }, (_, n) => `request-${n}`);
      for (const requestId of notified) api?.dueNotifications.send(requestId);
      await until("all have run", () => ran.length >= notified.length);
      expect(ran.sort()).to.deep.equal(notified.sort());
    });

    it("are received again for a request that has run before", async () => {
      const { dueNotifications } = await jobs();
      let runs = 0;
      dueNotifications.listen(async () => {
        runs += 1;
      });
      for (const times of [1, 2]) {
        dueNotifications.send("again");
        await until(`run ${times}`, () => runs === times);
      }
    });

    it("are received again after Redis was emptied, and after it was killed and restarted without data", async () => {
      const { dueNotifications } = await jobs();
      const ran = new Set<string>();
      dueNotifications.listen(async (requestId) => void ran.add(requestId));
      await redis.ask((client) => client.flushall());
      await heard("emptied");
      await redis.kill();
      dueNotifications.send("lost");
      await redis.start();
      await heard("back");

      async function heard(name: string): Promise<void> {
        let n = 0;
        await until(`a notification is heard: ${name}`, () => {
          dueNotifications.send(`${name}-${n++}`);
          return [...ran].some((requestId) => requestId.startsWith(name));
        });
      }
    });

    it("are received by another process after one has closed", async () => {
      const [api, closing, worker] = (await Promise.all([jobs(), jobs(), jobs()])) as [JobEngine, JobEngine, JobEngine];
      const ran = new Set<string>();
      const run = async (requestId: string) => void ran.add(requestId);
      closing.dueNotifications.listen(run);
      const notified = Array.from({ length: 500 }, (_, n) => `request-${n}`);
      for (const requestId of notified) api.dueNotifications.send(requestId);
      await until("the first have run", () => ran.size > 20);
      await closing.dueNotifications.close();
      worker.dueNotifications.listen(run);
      await until("all have run", () => ran.size === notified.length);
    });

    it("store nothing in Redis except the id of the request", async () => {
      const { dueNotifications } = await jobs();
      dueNotifications.send("request-a");
      const kept = async () => {
        const keys = await redis.ask((client) => client.keys("*"));
        return { keys, job: await redis.ask((client) => client.hgetall("jobs:deletions:1")) };
      };
      await until("the job is there", async () => (await kept()).job.name !== undefined);
      const { keys, job } = await kept();
      expect(keys.filter((key) => !key.startsWith("jobs:deletions:"))).to.deep.equal([]);
      expect(job).to.include({ name: "deletion", data: '{"requestId":"request-a"}' });
      const ran: string[] = [];
      dueNotifications.listen(async (requestId) => void ran.push(requestId));
      await until("it has run", () => ran.length === 1);
      await until("the job is gone", async () => (await kept()).job.name === undefined);
    });

    for (const [fault, away] of [
      ["killed", () => redis.kill()],
      ["silent", async () => redis.pause()],
    ] as const) {
      it(`may be sent and closed while Redis is ${fault}, also during a run, which continues`, async () => {
        const { dueNotifications, probes, close } = await jobs();
        let finish = () => {};
        const held = new Promise<void>((resolve) => {
          finish = resolve;
        });
        const runs = { begun: 0, ended: 0 };
        dueNotifications.listen(async () => {
          runs.begun += 1;
          await held;
          runs.ended += 1;
        });
        dueNotifications.send("held");
        await until("a run is in progress", () => runs.begun === 1);
        await away();
        for (let n = 0; n < 1_000; n += 1) dueNotifications.send(`request-${n}`);
        expect(
          await probes[0]?.check().then(
            () => "up",
            () => "down",
          ),
        ).to.equal("down");
        await close();
        expect(runs).to.deep.equal({ begun: 1, ended: 0 });
        finish();
        await until("the run has ended", () => runs.ended === 1);
      });
    }

    it("may be sent while Redis is unreachable, and are received once it is reachable", async () => {
      await redis.kill();
      const { dueNotifications } = await jobs({ isAway: true });
      dueNotifications.send("lost");
      const ran: string[] = [];
      dueNotifications.listen(async (requestId) => void ran.push(requestId));
      await redis.start();
      await until("a notification is heard", () => {
        dueNotifications.send(`request-${performance.now()}`);
        return ran.length > 0;
      });
    });
  });
});
