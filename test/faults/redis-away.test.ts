import { expect } from "chai";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { type RedisServer, startRedis } from "../support/redis-server.js";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { collectThrough, isCompleteIn, removeThrough, statusOfProfile } from "../support/requests.js";
import { onServers, redisUrl } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const DELETIONS = 200;

onServers(["bullmq"], "while Redis is unreachable", () => {
  let redis: RedisServer;
  let proxy: FaultProxy;
  let service: TestService;
  let remote: RemoteSystem;

  beforeEach(async () => {
    remote = await remoteSystem();
    redis = await startRedis();
    proxy = await openFaultProxy(redis.url);
  });

  async function start(overrides = {}): Promise<void> {
    service = await startService({ jobs: { url: redisUrl("jobs", proxy.url()) }, ...overrides });
  }

  async function ready(): Promise<{ ready: boolean; degraded: boolean; state: string | undefined }> {
    const answer = await service.fetch("/ready");
    const { data } = (await answer.json()) as {
      data: { ready: boolean; degraded: boolean; stores: { name: string; state: string }[] };
    };
    return { ...data, state: data.stores.find(({ name }) => name === "jobs")?.state };
  }

  for (const fault of ["refuse", "blackhole", "dropAnswers"] as const) {
    it(`a DELETE is answered and completed: ${fault}`, async () => {
      await start();
      await collectThrough(service, [{ email: "ann@example.org" }]);
      await proxy.set(fault);
      for (const email of ["ann@example.org", "ben@example.org"]) {
        const requestId = await removeThrough(service, `email/${email}`);
        await until("it is complete", () => isCompleteIn(service, requestId), 60_000);
      }
      expect((await ready()).ready).to.equal(true);
      await until("it is called degraded", async () => (await ready()).degraded);
      expect((await ready()).state).to.equal("down");
    });
  }

  it("the service starts, writes points, finds them in its cache, and stops", async () => {
    await proxy.set("refuse");
    await start();
    const ts = Date.now() - 86_400_000;
    const point = { dimension: "stream", dimension_id: "web", dimension_type: "size", value: 7, ts };
    const wrote = await service.fetch("/api/metric/points", { method: "POST", json: [point] });
    expect(wrote.status).to.equal(200);
    const answers = [await fetchSize(), await fetchSize()];
    expect(answers.map(({ is_cached }) => is_cached)).to.deep.equal([false, true]);
    await service.stop({ keep: true });
    await proxy.set("pass");
    await start();
  });

  it(`${DELETIONS} open deletions complete after it was killed and restarted empty (P6, P9)`, async function () {
    this.timeout(90_000);
    const targets = [{ name: "newsletter", url: remote.url, token: "a-token-of-the-newsletter" }];
    await start({ deletions: { targets } });
    const people = Array.from({ length: DELETIONS }, (_, n) => `person-${n}@example.org`);
    await collectThrough(
      service,
      people.map((email) => ({ email })),
    );
    for (const email of people) remote.holds.add(email);
    remote.trouble = "status";
    const open: string[] = [];
    for (const email of people.slice(0, DELETIONS / 2)) open.push(await removeThrough(service, `email/${email}`));
    await redis.ask((client) => client.set("before", "the kill"));
    await redis.kill();
    for (const email of people.slice(DELETIONS / 2)) open.push(await removeThrough(service, `email/${email}`));
    await redis.start();
    expect(await redis.ask((client) => client.exists("before"))).to.equal(0);
    remote.trouble = undefined;
    for (const requestId of open) await until("it is complete", () => isCompleteIn(service, requestId), 60_000);
    expect([...remote.holds]).to.deep.equal([]);
    for (const email of [people[0], people.at(-1)]) {
      expect(await statusOfProfile(service, `email/${email}`)).to.equal(404);
    }
  });

  async function fetchSize(): Promise<{ is_cached: boolean }> {
    const query = "dimension=stream&dimension_id=web&dimension_type=size&range=3d";
    const answer = await service.fetch(`/api/metric?${query}`);
    const data = ((await answer.json()) as { data: [{ is_cached: boolean }] }).data[0];
    return data;
  }
});
