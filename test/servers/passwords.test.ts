import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { Redis } from "ioredis";
import { systemClock } from "../../src/clock.js";
import { compose } from "../../src/compose.js";
import { readSettings } from "../../src/config/settings.js";
import { startErrorText } from "../../src/config/start-output.js";
import { openLog } from "../../src/log.js";
import { serviceClock } from "../../src/service-clock.js";
import { startChild } from "../support/child-service.js";
import { dataFolder } from "../support/data-folder.js";
import { freePort } from "../support/free-port.js";
import { type RealService, startReal } from "../support/real-service.js";
import { collectThrough } from "../support/requests.js";
import { startCommand } from "../support/run-command.js";
import { onServers, testPepper } from "../support/servers.js";
import { until } from "../support/until.js";
import type { User } from "./secured/mongod.js";
import { type SecuredServers, startSecuredServers } from "./secured/servers.js";

/** Part of every password and token. */
const canary = `canary${randomBytes(8).toString("hex")}`;
const USER: User = { name: "service", password: `${canary}-mongo@:/` };

/** Reasons of failed connections, with the messages for the operator: of MongoDB, InfluxDB, Redis. */
const kinds = {
  refused: ["is unreachable, or has no primary", "is unreachable", "is unreachable"],
  "another authority": [
    "cannot be used: its certificate is of an authority that is not trusted",
    ": its certificate is of an authority that is not trusted",
    "is unreachable: its certificate is of an authority that is not trusted",
  ],
  "a wrong password": [
    "refuses the user or the password",
    ": the token is refused",
    "is unreachable: it refuses the user or the password",
  ],
} as const;

onServers(["mongod", "influxd", "redis-server"], "passwords and tokens in URLs", function () {
  this.timeout(120_000);
  let servers: SecuredServers;

  before(async () => {
    servers = await startSecuredServers();
    const roles = ["secured", "secured_ledger"].map((db) => ({ role: "readWrite", db }));
    await servers.mongod.command("admin", { createUser: USER.name, pwd: USER.password, roles });
  });
  after(() => servers.close());

  const start = (environment: Record<string, string>) =>
    startReal(dataFolder(), { LOG_LEVEL: "trace", ...environment });

  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    const [ofMongo, ofInflux, ofRedis] = kinds[kind];

    it(`are in no log, error, /ready or /metrics, which only name the server: ${kind}`, async () => {
      const { mongod, influx, redis, certificates } = servers;
      const trusted = kind === "another authority" ? certificates.otherAuthority : certificates.authority;
      const closed = `127.0.0.1:${await freePort()}`;
      const host = kind === "refused" ? closed : undefined;
      const at = (url: string, usual: string) => url.replace(usual, host ?? usual);
      const wrong = kind === "a wrong password" ? `${canary}-wrong` : USER.password;
      const entities = at(mongod.url("secured", { ...USER, password: wrong }), mongod.host);
      const common = { PEPPER: testPepper, NODE_EXTRA_CA_CERTS: trusted };
      const waits = ofMongo.startsWith("is unreachable");
      const deadline = waits ? { LIMITS_STORE_DEADLINE_MS: "1000" } : {};
      const onMongo = { ...common, ENTITIES_URL: entities, LOG_LEVEL: "trace", ...deadline };

      const service = start({
        NODE_EXTRA_CA_CERTS: trusted,
        METRICS_URL: `${at(influx.url, influx.host)}&token=${canary}-influx`,
        JOBS_URL: at(redis.url("secured", `${canary}-redis`), redis.host),
      });
      // A start waits for a server; the command fails at once with the same message.
      const alone = waits ? startCommand("key", ["list"], onMongo) : startChild(onMongo);
      const running = await service;
      const texts = await askAll(running);
      expect(await alone.ended).to.equal(1);
      // Ignores lines of the log that a slow machine may have caused.
      const lines = alone
        .err()
        .trimEnd()
        .split("\n")
        .filter((line) => !line.startsWith("{"));
      expect(lines, alone.err()).to.have.length(1);
      expect(lines[0]).to.match(new RegExp(`^ENTITIES_URL: MongoDB at ${host ?? mongod.host} ${ofMongo}`));
      if (kind === "refused") {
        const waiting = startChild(onMongo);
        await until("it waits", () => waiting.err().includes("is unreachable; retrying for"), 60_000);
        waiting.child.kill("SIGKILL");
        await waiting.ended;
        texts.push(waiting.out(), waiting.err());
      }
      const said = (words: string) => until(words, () => running.log().includes(words), 60_000);
      await said(`InfluxDB at ${host ?? influx.host}${ofInflux.startsWith(":") ? "" : " "}${ofInflux}`);
      await said(`Redis at ${host ?? redis.host} ${ofRedis}`);
      await running.stop();
      expectNone([...texts, running.log(), alone.out(), alone.err()]);
    });
  }

  it("are in no log, error, /ready or /metrics while they are changed and restored during a run", async () => {
    const { mongod, redis, certificates } = servers;
    const service = await start({
      ...servers.environment(mongod.url("secured", USER)),
      LOG_LEVEL: "trace",
    });
    await collectThrough(service, [{ _uid: "u-1" }]);
    const texts = await askAll(service);
    const setMongo = (pwd: string) => mongod.command("admin", { updateUser: USER.name, pwd });
    const setRedis = async (from: string, to: string) => {
      const client = new Redis(redis.url("", from), { tls: { ca: readFileSync(certificates.authority) } });
      await client.config("SET", "requirepass", to);
      await client.call("CLIENT", "KILL", "TYPE", "normal");
      client.disconnect();
    };
    const redisPassword = new URL(redis.url("")).password;
    await setMongo("another");
    await mongod.program.restart();
    await setRedis(redisPassword, "another");
    const away = `Redis at ${redis.host} is unreachable: it refuses the user or the password`;
    await until("Redis is away", () => service.log().includes(away));
    const status = async () => {
      const answer = await service.fetch("/api/entity/user/_uid/u-1");
      texts.push(await answer.text());
      return answer.status;
    };
    await until("MongoDB is away", async () => (await status()) === 503, 60_000);
    texts.push(...(await askAll(service)));
    expect(await status()).to.equal(503);

    await setMongo(USER.password);
    await setRedis("another", redisPassword);
    await until("it is served again", async () => (await status()) === 200, 60_000);
    await until("Redis is back", () => service.log().includes(`Redis at ${redis.host} is reachable again`));
    await service.stop();
    expectNone([...texts, service.log()], [canary, redisPassword, servers.influx.token]);
  });

  describe("that are invalid are not repeated:", () => {
    const wrong: readonly [Record<string, string>, RegExp][] = [
      [{ ENTITIES_URL: `mongodb://user:a@${canary}/b@host/db` }, /^ENTITIES_URL is wrong: write %40 for @/],
      [{ ENTITIES_URL: `mongodb://user:a/${canary}@host/db` }, /^ENTITIES_URL is wrong: Password contains unescaped/],
      [{ ENTITIES_URL: `mongodb://user/${canary}@host/db` }, /^ENTITIES_URL is wrong$/],
      [{ ENTITIES_URL: `mongodb://user:${canary}@host/?nonsense=1` }, /^ENTITIES_URL is wrong: option nonsense is not/],
      [{ ENTITIES_URL: `mongodb://user:%zz${canary}@host/db` }, /^ENTITIES_URL is wrong/],
      [{ ENTITIES_URL: `mongo://user:${canary}@host/db` }, /^ENTITIES_URL has an unknown engine/],
      [{ METRICS_URL: `influxdb://user:${canary}@host/?org=o&bucket=b` }, /^METRICS_URL contains a user or a password/],
      [{ METRICS_URL: `influxdb://host/?org=o&bucket=b&tokn=${canary}` }, /^METRICS_URL has a parameter besides/],
      [{ METRICS_URL: `influxdb://host/?org=o&token=${canary}` }, /^METRICS_URL has no bucket/],
      [{ JOBS_URL: `redis://:a/${canary}@host:6379` }, /^JOBS_URL is not a URL/],
      [{ JOBS_URL: `redis://:%zz${canary}@host:6379` }, /^JOBS_URL is not a URL/],
    ];
    for (const [environment, words] of wrong) {
      it(Object.entries(environment).join(": ").replace(canary, "secret"), async () => {
        const dir = dataFolder();
        const settings = readSettings({ DATA_DIR: dir, PEPPER: testPepper, PORT: "0", ...environment });
        const line = await compose(settings, serviceClock(systemClock), openLog("silent")).then(
          (service) => service.stop().then(() => "it started"),
          (error: unknown) => startErrorText(error, settings),
        );
        expect(line).to.match(words);
        expectNone([line]);
      });
    }
  });
});

/** Responses, with their headers, to requests that need each of the stores. */
async function askAll(service: RealService): Promise<string[]> {
  const series = { dimension: "stream", dimension_id: "web", dimension_type: "size" };
  const requests: [path: string, init?: { method: string; json?: unknown }][] = [
    ["/ready"],
    ["/metrics"],
    ["/api/metric/points", { method: "POST", json: [{ ...series, value: 1, ts: Date.now() }] }],
    [`/api/metric?${new URLSearchParams(series)}`],
    ["/collect/json/web", { method: "POST", json: { _uid: "u-2" } }],
    ["/api/entity/user/_uid/u-2", { method: "DELETE" }],
    ["/ready"],
    ["/metrics"],
  ];
  const texts: string[] = [];
  for (const [path, init] of requests) {
    const answer = await service.fetch(path, init);
    texts.push(`${path} ${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`);
  }
  return texts;
}

function expectNone(texts: readonly string[], secrets: readonly string[] = [canary]): void {
  expect(texts.join("").length).to.be.greaterThan(0);
  for (const text of texts) {
    for (const secret of secrets) expect(text.includes(secret), text).to.equal(false);
  }
}
