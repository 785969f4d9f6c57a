import { cpSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { segment } from "../../src/metrics/dimensions.js";
import type { ValueSource } from "../../src/metrics/ports.js";
import { metricsFile } from "../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../src/stores/sqlite/open-database.js";
import { sqliteSeriesStore } from "../../src/stores/sqlite/series/series-store.js";
import { dataFolder } from "../support/data-folder.js";
import { dropFromServers } from "../support/drop-from-servers.js";
import { type FilledFolder, filledFolder } from "../support/filled-folder.js";
import { gaugeOf, removeThrough } from "../support/requests.js";
import { runToEnd } from "../support/run-command.js";
import { influxdbToken, influxdbUrl, mongodbUrl, onServers, ownName } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { webhookReceiver } from "../support/webhook-receiver.js";

onServers(["mongodb", "influxdb", "bullmq"], "npm run migrate", function () {
  this.timeout(120_000);
  let filled: FilledFolder;
  let dir: string;
  let name: string;
  const open: TestService[] = [];
  before(async () => {
    filled = await filledFolder();
  });
  beforeEach(() => {
    name = ownName();
    dir = dataFolder();
    cpSync(filled.dir, dir, { recursive: true });
  });
  afterEach(async () => {
    for (const service of open.splice(0)) await service.stop({ keep: true });
    await dropFromServers(name);
  });

  const migrate = (args: readonly string[] = ["--from", dir], environment: Record<string, string> = {}) =>
    runToEnd("migrate", args, {
      PEPPER: filled.pepper,
      ENTITIES_URL: mongodbUrl(name),
      METRICS_URL: influxdbUrl(name),
      INFLUX_TOKEN: influxdbToken(),
      ...environment,
    });
  const started = async (...options: Parameters<typeof startService>) => {
    const service = await startService(...options);
    open.push(service);
    return service;
  };
  const onTarget = (on: Partial<Record<"entities" | "metrics", boolean>> = { entities: true, metrics: true }) =>
    started(
      {
        pepper: filled.pepper,
        ...(on.entities ? { entities: { url: mongodbUrl(name) } } : {}),
        ...(on.metrics ? { metrics: { url: influxdbUrl(name), token: influxdbToken() } } : {}),
      },
      on.entities && on.metrics ? {} : { dir },
    );

  it("copies all data once: the same requests have the same responses on both sides, and a second copy is refused", async () => {
    const { code, out, err } = await migrate();
    expect(code, err + out).to.equal(0);
    expect(out).to.match(/^entities +34 +34 +[0-9a-f]{32} +equal$/m);
    expect(out).to.match(/^saved points +\d{3,} +\d{3,} +[0-9a-f]{32} +equal$/m);
    expect(out).to.match(/^added points +150 +150 +[0-9a-f]{32} +equal$/m);
    expect(out).to.match(/Nothing is erased from .* any more/);
    expect(err).to.match(/^history: 39 of 39 records/m);
    const second = await migrate();
    expect([second.code, second.err.includes("was filled by npm run migrate before")]).to.deep.equal([1, true]);
    const [embedded, servers] = [await started({}, { dir }), await onTarget()];
    for (const path of questions(filled)) {
      expect(await answerOf(servers, path), path).to.deep.equal(await answerOf(embedded, path));
    }
    for (const path of ["/.well-known/jwks.json", ...filled.requestIds.map((id) => `/api/deletion/${id}/receipt`)]) {
      const [there, here] = await Promise.all([servers, embedded].map(async (one) => (await one.fetch(path)).text()));
      expect(there, path).to.equal(here).and.to.not.equal("");
    }
    expect(out).to.match(/^single facts +1 +1 +[0-9a-f]{32} +equal$/m);
    const key = await servers.fetch("/api/segment", { key: filled.key });
    expect(key.status, "a key of the folder").to.equal(200);
    const [there, here] = await Promise.all(
      [servers, embedded].map(async (one) => (await one.fetch("/api/key", { key: filled.key })).json()),
    );
    expect(there, "its bounds").to.deep.equal(here).and.have.nested.property("data.by", "email");
    const [names] = (await servers.service.stores.keys.list()).map(({ eventNames }) => eventNames);
    expect(names, "its names of events").to.deep.equal(["signed_up", "page"]);
    const late = { _uid: filled.erased[0], city: "Rome", at: "2020-01-01T00:00:00Z" };
    await servers.fetch("/collect/json/web?timestamp_field=at", { method: "POST", json: late });
    expect((await servers.fetch(`/api/entity/user/${filled.erased[0]}`)).status, "erased for good").to.equal(404);
    const again = await servers.fetch("/api/entity/user/_uid/person-5", { method: "DELETE" });
    expect(again.status, "a new deletion").to.equal(200);
  });

  it("copies pending notifications, which the service on servers delivers (P31)", async () => {
    const receiver = await webhookReceiver();
    receiver.failure = "answers 500";
    const webhook = { url: receiver.url, token: "secret" };
    const embedded = await startService({ webhook }, { dir });
    const requestId = await removeThrough(embedded, "_uid/person-7");
    await until("it is sent", () => receiver.received.length > 0);
    await embedded.stop({ keep: true });
    receiver.failure = undefined;
    receiver.received.length = 0;
    const { code, out, err } = await migrate();
    expect(code, err + out).to.equal(0);
    const entities = { url: mongodbUrl(name) };
    const metrics = { url: influxdbUrl(name), token: influxdbToken() };
    const service = await started({ pepper: filled.pepper, entities, metrics, webhook });
    await until("it is delivered", async () => (await gaugeOf(service, "deletion_notifications_pending")) === 0);
    expect(receiver.received.map(({ body }) => body.request_id)).to.deep.equal([requestId]);
  });

  for (const [place, after] of [
    ["copied-series", 1],
    ["copied-records", 9],
  ] as const) {
    it(`starts again after it was killed (${place}, ${after}), also if the folder was used, and added points settled, in between`, async () => {
      const killed = await migrate(undefined, { FAILPOINT: place, FAILPOINT_AFTER: String(after) });
      expect(killed.code).to.equal("SIGKILL");
      const early = await onTarget().catch((error: Error) => error.message);
      expect(early).to.contain("is being filled by npm run migrate");

      const between = await startService({}, { dir });
      const changes = [{ _uid: "person-4", city: "Rome" }, { _uid: "new" }];
      await between.fetch("/collect/json/web", { method: "POST", json: changes });
      await between.fetch("/api/entity/user/_uid/person-6", { method: "DELETE" });
      await between.stop({ keep: true });
      await settleAll(dir);

      const { code, out, err } = await migrate();
      expect(code, err + out).to.equal(0);
      const service = await onTarget();
      expect(await answerOf(service, "/api/entity/user/person-4")).to.deep.include({ status: 200 });
      expect(JSON.stringify(await answerOf(service, "/api/entity/user/person-4"))).to.contain("Rome");
      expect(await answerOf(service, "/api/entity/user/new")).to.deep.include({ status: 200 });
      expect(await answerOf(service, "/api/entity/user/person-6")).to.deep.include({ status: 404 });
    });
  }

  it("copies only the series to a bucket, with the values of clients and of the recorder kept separate", async () => {
    const { code, out, err } = await migrate(["--from", dir, "--to", influxdbUrl(name)], { PEPPER: "" });
    expect(code, err + out).to.equal(0);
    expect(out).to.contain("Profiles and the ledger stay where they are");
    const { service } = await onTarget({ metrics: true });
    const series = { dimension: segment, id: "recorded", type: "size" };
    const to = Math.floor(Date.now() / segment.slotMs) * segment.slotMs;
    const window = { series, from: to - 20 * segment.slotMs, to };
    const saved = async (source: ValueSource) =>
      [...((await service.stores.series.read([window], source))[0] ?? [])].filter((value) => !Number.isNaN(value));
    expect(await saved("recorder")).to.deep.equal([1.5, 2, 3]);
    expect(await saved("clients")).to.deep.equal([20]);
  });

  it("skips points that are older than the retention of the bucket, and reports how many", async () => {
    const environment = { METRICS_RETENTION: "2w" };
    const { code, out, err } = await migrate(["--from", dir, "--to", influxdbUrl(name)], environment);
    expect(code, err + out).to.equal(0);
    const [, left, kept] = /^(\d+) points skipped[\s\S]*^saved points +(\d+)/m.exec(out) ?? [];
    expect(Number(left)).to.be.within(400, 500);
    expect(Number(left) + Number(kept), "of three series, three weeks").to.be.within(3 * 3 * 144, 3 * 3 * 144 + 20);
  });

  it("refuses a database that contains data, or is being filled from another folder", async () => {
    const client = new MongoClient(mongodbUrl(name));
    await client.db(name).collection<{ _id: string }>("segments").insertOne({ _id: "mine" });
    const used = await migrate();
    expect(used.code).to.equal(1);
    expect(used.err).to.contain("already contains data");
    await client.db(name).dropDatabase();
    await client.close();

    expect((await migrate(undefined, { FAILPOINT: "copied-records" })).code).to.equal("SIGKILL");
    for (const file of ["ledger.db", "entities.db", "pepper"]) rmSync(join(dir, file));
    const { stop } = await startService({ pepper: filled.pepper }, { dir });
    await stop({ keep: true });
    const other = await migrate(["--from", dir, "--to", mongodbUrl(name)]);
    expect(other.code).to.equal(1);
    expect(other.err).to.contain("is being filled from another folder");
  });

  const wrong: [string, () => readonly string[], Record<string, string>, number, RegExp][] = [
    ["no folder", () => [], {}, 2, /--from is required/],
    ["a target of another kind", () => ["--from", dir, "--to", "redis://127.0.0.1"], {}, 2, /--to takes/],
    ["no target", () => ["--from", dir], { ENTITIES_URL: "sqlite:", METRICS_URL: "sqlite:" }, 2, /--to names/],
    ["a target named twice", () => ["--from", dir, "--to", "mongodb://a", "--to", "mongodb://b"], {}, 2, /twice/],
    ["a folder without data", () => ["--from", tmpdir()], {}, 1, /is not the data folder of a service/],
    ["a missing folder", () => ["--from", join(dir, "no")], {}, 1, /is not the data folder of a service/],
    ["no pepper", () => ["--from", dir], { PEPPER: "" }, 1, /PEPPER is not set/],
    [
      "a token that is refused",
      () => ["--from", dir],
      { INFLUX_TOKEN: "wrong" },
      1,
      /^METRICS_URL: InfluxDB at http:\/\/[\w.:]+: the token is refused$/m,
    ],
    [
      "an unreachable server",
      () => ["--from", dir, "--to", "influxdb://127.0.0.1:9/?org=o&bucket=b"],
      {},
      1,
      /InfluxDB at http:\/\/127.0.0.1:9 is unreachable/,
    ],
    ["another pepper", () => ["--from", dir], { PEPPER: "x".repeat(40) }, 1, /PEPPER is not the pepper of the folder/],
  ];
  for (const [what, args, environment, expected, words] of wrong) {
    it(`refuses ${what} with exit code ${expected}`, async () => {
      const { code, err } = await migrate(args(), environment);
      expect(code, err).to.equal(expected);
      expect(err).to.match(words);
      const said = err.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
      expect(said.length, err).to.be.at.most(2);
    });
  }
});

/** Keeps only the sums of all added points of a folder, as a service does after 48 hours. */
async function settleAll(dir: string): Promise<void> {
  const db = openDatabase(dir, metricsFile);
  const series = sqliteSeriesStore(db);
  await series.settle(Number.MAX_SAFE_INTEGER);
  await series.close();
  db.close();
}

/** Paths about everything that was put into the folder. */
function questions({ people, erased, requestIds }: FilledFolder): string[] {
  const identities = [...people, ...erased].flatMap((name) => [
    `/api/entity/user/${name}`,
    `/api/me/email/${name}%40example.com?fields=city,visits`,
  ]);
  const metrics = ["web", "mobile", "shop", "counted"].flatMap((id) =>
    ["3h", "6h", "1d", "1w"].map(
      (interval) =>
        `/api/metric?dimension=stream&dimension_id=${id}&dimension_type=size&startdate=now-3w&interval=${interval}&smooth=true`,
    ),
  );
  return [
    ...identities,
    ...metrics,
    "/api/metric?dimension=segment&dimension_id=recorded&dimension_type=size&startdate=now-3w&interval=2h",
    ...requestIds.flatMap((id) => [`/api/entity/deletestatus/${id}`, `/api/deletion/${id}`]),
    "/api/entity/user/user_id/7",
    "/api/segment",
    "/api/segment/sizes",
    "/api/experience",
    "/api/mark",
  ];
}

/** The parts of a response that do not depend on its time. */
async function answerOf(service: TestService, path: string): Promise<object> {
  const answer = await service.fetch(path);
  const { data, meta, errors } = (await answer.json()) as { data?: unknown; meta?: unknown; errors?: unknown };
  const items = path.startsWith("/api/metric") ? (data as { name: string; values: unknown }[]) : undefined;
  return { status: answer.status, data: items?.map(({ name, values }) => ({ name, values })) ?? data, meta, errors };
}
