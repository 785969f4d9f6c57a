import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { StartError } from "../src/errors.js";
import { type Log, openLog } from "../src/log.js";
import { DatabaseSync, layoutOf } from "../src/stores/sqlite/connection.js";
import { metricsFile } from "../src/stores/sqlite/layout.js";
import { openDatabase } from "../src/stores/sqlite/open-database.js";
import { startChild } from "./support/child-service.js";
import { dropDatabases } from "./support/drop-from-servers.js";
import { type Answered, type EarlierData, type EarlierEngine, earlierData } from "./support/earlier-version.js";
import { endsWithTest } from "./support/ends-with-test.js";
import { withMongo } from "./support/mongo-client.js";
import { remoteSystem } from "./support/remote-system.js";
import { collectThrough, deleteEntity, isCompleteIn, statusOfProfile } from "./support/requests.js";
import { runToEnd } from "./support/run-command.js";
import { mongodbUrl, onServers, ownName } from "./support/servers.js";
import { adminKey, type Overrides, startService, type TestService } from "./support/service.js";
import { until } from "./support/until.js";

describe("a folder of version 1.0.0", () => testsOf("folder"));
describe("a metrics.db of version 1.0.0 in which a damaged page hides chunks", () => {
  it("is refused in one line and keeps its layout, as its series would not list them", async () => {
    const { dir } = await earlierData("folder", "");
    const path = join(dir, "metrics.db");
    const db = new DatabaseSync(path, { readOnly: true });
    const { page } = db
      .prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'sqlite_autoindex_chunk_1'")
      .get() as { page: number };
    db.close();
    const damaged = readFileSync(path);
    // The number of rows in the page.
    damaged.writeUInt16BE(damaged.readUInt16BE((page - 1) * 4_096 + 3) - 1, (page - 1) * 4_096 + 3);
    writeFileSync(path, damaged);
    expect(() => openDatabase(dir, metricsFile)).to.throw(
      StartError,
      /^The table chunk in metrics\.db is damaged [^\n]+$/,
    );
    const refused = new DatabaseSync(path, { readOnly: true });
    expect(layoutOf(refused)).to.equal(3);
    refused.close();
  });
});

describe("a folder of version 1.0.0 that is started with another pepper", () => {
  it("is refused before one of its files is upgraded", async () => {
    const { dir } = await earlierData("folder", "");
    const layouts = () =>
      ["ledger.db", "entities.db", "metrics.db"].map((name) => {
        const db = new DatabaseSync(join(dir, name), { readOnly: true });
        const layout = layoutOf(db);
        db.close();
        return layout;
      });
    const before = layouts();
    const failure = await startService({ pepper: "x".repeat(32) }, { dir }).catch((error: unknown) => error);
    expect(failure)
      .to.be.instanceOf(StartError)
      .with.property("message")
      .that.matches(/^PEPPER is not the pepper/);
    expect(layouts()).to.deep.equal(before);
  });
});

onServers(["mongodb"], "databases of version 1.0.0 on MongoDB", function () {
  this.timeout(60_000);
  testsOf("mongodb");

  it("are refused with another pepper before one of them is upgraded", async () => {
    const name = ownName();
    endsWithTest(() => dropDatabases(name));
    const { dir, settings } = await earlierData("mongodb", name);
    const layouts = () =>
      withMongo((client) => {
        const marks = [name, `${name}_ledger`].map((database) => client.db(database).collection("marks"));
        return Promise.all(marks.map((facts) => facts.findOne({ _id: "layout" as never })));
      });
    const before = await layouts();
    const start = startService({ ...settings, pepper: "x".repeat(32) }, { dir });
    const failure = await start.catch((error: unknown) => error);
    expect(failure)
      .to.be.instanceOf(StartError)
      .with.property("message")
      .that.matches(/^PEPPER is not the pepper/);
    expect(await layouts()).to.deep.equal(before);
  });
});

onServers(["mongodb"], "npm run migrate", function () {
  this.timeout(60_000);

  it("copies a folder of version 1.0.0, which is read as before on MongoDB", async () => {
    const name = ownName();
    endsWithTest(() => dropDatabases(name));
    const { dir, expected, answers } = await earlierData("folder", name);
    const pepper = `base64:${readFileSync(join(dir, "pepper")).toString("base64")}`;
    const { code, err } = await runToEnd("migrate", ["--from", dir, "--to", mongodbUrl(name)], { PEPPER: pepper });
    expect(code, err).to.equal(0);
    const options = { dir, clock: () => expected.now, onServers: false };
    await expectAsBefore(await startService({ pepper, entities: { url: mongodbUrl(name) } }, options), answers);
  });
});

function testsOf(engine: EarlierEngine): void {
  const name = ownName();
  let data: EarlierData;
  let service: TestService | undefined;
  beforeEach(async () => {
    service = undefined;
    if (engine === "mongodb") endsWithTest(() => dropDatabases(name));
    data = await earlierData(engine, name);
  });

  async function started(more: Overrides = {}, log?: Log): Promise<TestService> {
    await service?.stop({ keep: true });
    const aheadMs = data.expected.now - Date.now();
    const clock = () => Date.now() + aheadMs;
    const options = { dir: data.dir, clock, onServers: false, ...(log === undefined ? {} : { log }) };
    service = await startService({ ...data.settings, ...more }, options);
    return service;
  }

  it("is read as before, also at the second start", async () => {
    for (let starts = 0; starts < 2; starts += 1) {
      const running = await started();
      await expectAsBefore(running, data.answers);
      for (const [key, status] of [
        [data.expected.readerKey, 200],
        [data.expected.revokedKey, 401],
      ] as const)
        expect((await running.fetch("/api/segment", { key })).status, "keys").to.equal(status);
    }
  });

  it("has applied what is repeated", async () => {
    const running = await started();
    const { repeated, repeatedCall } = data.expected;
    for (const { path, idempotencyKey, json, data: returned } of repeated) {
      const headers = { "idempotency-key": idempotencyKey };
      const answer = await running.fetch(path, { method: "POST", headers, json });
      const { data: again } = (await answer.json()) as { data: unknown };
      expect(answer.status, path).to.equal(200);
      const completed = returned?.map((one) => ({ ...one, completed: true }));
      if (completed !== undefined) expect(again).to.deep.equal(completed);
    }
    await running.fetch(repeatedCall.path, { method: "POST", json: repeatedCall.json });
    const before = (path: string) => data.answers.find((one) => one.path === path)?.body;
    for (const path of ["/api/entity/user/user_id/u-9", "/api/entity/user/_uid/ida"])
      expect(await (await running.fetch(path)).json(), path).to.deep.equal(before(path));
  });

  it("has profiles that no request reaches any more, which the first start counts, also if it was killed before", async () => {
    const environment = { ...data.environment, DATA_DIR: data.dir, FAILPOINT: "identities-checked-some" };
    const killed = startChild({ ...environment, ADMIN_KEY: adminKey });
    expect(await killed.ended, killed.err()).to.equal("SIGKILL");
    expect(killed.out(), "the port was not open").to.equal("");
    const warnings: unknown[] = [];
    const log = { ...openLog("silent"), warn: (...line: unknown[]) => warnings.push(line) } as unknown as Log;
    for (let starts = 0; starts < 2; starts += 1) await started({}, log);
    const words =
      "profiles that have only identities which are refused since 2.0.0: 5 of table user and 1 of table account. No request reaches them: read docs/upgrading.md";
    const ofIdentities = warnings.filter((line) => JSON.stringify(line).includes("identities"));
    expect(ofIdentities).to.deep.equal([[{ profiles: { user: 5, account: 1 } }, words]]);
  });

  it("has profiles that no request reaches, which are deleted with tables that accept their values", async () => {
    const file = join(data.dir, "tables.json");
    const email = { name: "email", normal_form: "text" };
    const user = { name: "user", identities: ["_uid", "user_id", email], common_nobody: false };
    writeFileSync(file, JSON.stringify([user, { name: "account", identities: ["account_id"], common_nobody: false }]));
    const running = await started({ tables_file: file });
    for (const [table, field, value] of [
      ["user", "email", "\\n"],
      ["user", "user_id", "0"],
      ["user", "user_id", "[object Object]"],
      ["user", "_uid", "NaN"],
      ["user", "email", "not an address"],
      ["account", "account_id", "#N/A"],
    ] as const) {
      const path = `/api/entity/${table}/${field}/${encodeURIComponent(value)}`;
      expect((await running.fetch(path)).status, path).to.equal(200);
      const { body } = await deleteEntity(running, path.slice("/api/entity/".length));
      await until("it is complete", () => isCompleteIn(running, body.data.request_id));
      expect((await running.fetch(path)).status, path).to.equal(404);
    }
  });

  const stays404 = [
    "_uid/fay",
    "email/fay@example.com",
    "_uid/gus",
    "_uid/hal",
    "_uid/zoe",
    "_uid/dan",
    "user_id/gone-1",
  ];

  it("completes deletions that were open or waiting, and keeps the receipts of completed ones (P1, P4, P5)", async () => {
    const remote = await remoteSystem();
    remote.holds.add("hal@example.com");
    const targets = [{ name: "crm", url: remote.url, token: "secret" }];
    const running = await started({ deletions: { targets } });
    const { completed, atTarget, waiting, open, receipts } = data.expected;
    for (const id of completed) expect(await isCompleteIn(running, id), id).to.equal(true);
    for (const id of [...open, atTarget, waiting]) await until(id, () => isCompleteIn(running, id));
    const erased = remote.calls.filter(({ path }) => path.endsWith("/erase")).map(({ body }) => body);
    expect(erased.map(({ request_id }) => request_id)).to.have.members([atTarget, waiting]);
    for (const { identities } of erased)
      expect(identities).to.deep.include.members([{ field: "email", value: "hal@example.com" }]);
    for (const [id, claims] of Object.entries(receipts)) expect(await claimsOf(running, id), id).to.deep.equal(claims);
    const late = { _uid: "fay", email: "hal@example.com", at: "2026-01-15T12:00:00Z" };
    await running.fetch("/collect/json/web?timestamp_field=at", { method: "POST", json: late });
    for (const path of stays404) expect(await statusOfProfile(running, path), path).to.equal(404);
    await collectThrough(running, [{ _uid: "fay", city: "Back" }]);
    expect(await statusOfProfile(running, "_uid/fay")).to.equal(200);
  });

  it("sends remote targets no stored value that identifies no one: they could erase all people who have it", async () => {
    const remote = await remoteSystem();
    const running = await started({ deletions: { targets: [{ name: "crm", url: remote.url, token: "secret" }] } });
    const { body } = await deleteEntity(running, "user/_uid/jon");
    const { request_id } = body.data;
    await until("it is complete", () => isCompleteIn(running, request_id));
    const sent = remote.calls.filter(({ body }) => body.request_id === request_id);
    for (const { body } of sent) expect(body.identities).to.deep.equal([{ field: "_uid", value: "jon" }]);
    expect(sent.length).to.be.at.least(2);
  });

  it("completes the deletions that need no remote target, and keeps the others open without it", async () => {
    const running = await started();
    const { open, atTarget, waiting } = data.expected;
    for (const id of open) await until(id, () => isCompleteIn(running, id));
    for (const id of [atTarget, waiting]) expect(await isCompleteIn(running, id), id).to.equal(false);
    for (const path of stays404) expect(await statusOfProfile(running, path), path).to.equal(404);
  });
}

async function expectAsBefore(service: TestService, answers: readonly Answered[]): Promise<void> {
  for (const { path, status, body, ...init } of answers) {
    const answer = await service.fetch(path, init);
    expect({ status: answer.status, body: bodyOf(await answer.text()) }, path).to.deep.equal({ status, body });
  }
}

/** A body of JSON or JSON lines, without the fields that depend on the time of the request, or are new. */
function bodyOf(text: string): unknown {
  const lines = text.trim().split("\n");
  if (lines.length > 1) return lines.map((line) => JSON.parse(line));
  const others = ["is_cached", "complete_until", "next_save_at", "member", "by_rule", "computing"];
  return JSON.parse(text, (key, value) => (others.includes(key) ? undefined : value));
}

/** The claims of a receipt, without the version of the program. */
async function claimsOf(service: TestService, requestId: string): Promise<object> {
  const answer = await service.fetch(`/api/deletion/${requestId}/receipt`);
  const { version: _, ...claims } = JSON.parse(
    Buffer.from((await answer.text()).split(".")[1] ?? "", "base64url").toString(),
  );
  return claims;
}
