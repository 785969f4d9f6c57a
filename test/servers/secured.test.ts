import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { startErrorText } from "../../src/config/start-output.js";
import { dataFolder } from "../support/data-folder.js";
import { type FilledFolder, filledFolder } from "../support/filled-folder.js";
import { type RealService, startReal } from "../support/real-service.js";
import { collectThrough, isCompleteIn, removeThrough, statusOf } from "../support/requests.js";
import { runToEnd } from "../support/run-command.js";
import { onServers } from "../support/servers.js";
import { startService } from "../support/service.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";
import type { User } from "./secured/mongod.js";
import { type SecuredServers, startSecuredServers } from "./secured/servers.js";

const HOUR = 3_600_000;

onServers(["mongod", "influxd", "redis-server"], "on servers with TLS and passwords,", function () {
  this.timeout(120_000);
  const dir = dataFolder();
  let servers: SecuredServers;
  let filled: FilledFolder;
  let environment: Record<string, string>;

  before(async () => {
    [servers, filled] = await Promise.all([startSecuredServers(), filledFolder()]);
    const { command, user, database } = documented();
    await servers.mongod.command("admin", command);
    environment = { ...servers.environment(servers.mongod.url(database, user)), PEPPER: filled.pepper };
  });
  after(() => servers.close());

  const start = () => startReal(dir, environment);

  describe("P29: with a user that has readWrite on the two databases alone, and a token for the bucket alone,", () => {
    it("npm run migrate fills both databases and the bucket", async () => {
      const { code, out, err } = await runToEnd("migrate", ["--from", filled.dir], environment);
      expect(code, err + out).to.equal(0);
      expect(out).to.match(/^entities +34 +34 +[0-9a-f]{32} +equal$/m);
    });

    describe("on the copy,", () => {
      let services: [RealService, RealService];
      before(async () => {
        services = await Promise.all([start(), start()]);
      });
      after(() => Promise.all(services.map((service) => service.kill())));

      it("two processes are ready and not degraded", async () => {
        for (const service of services) {
          const isWell = async () => {
            const answer = await service.fetch("/ready");
            const { data } = (await answer.json()) as { data: { degraded: boolean } };
            return answer.status === 200 && !data.degraded;
          };
          await until("every store is up", isWell);
        }
      });

      it("profiles are collected, merged and read", async () => {
        await collectThrough(services[0], [
          { _uid: "u-1", city: "Oslo" },
          { email: "u1@example.org", plan: "gold" },
        ]);
        await collectThrough(services[1], [{ _uid: "u-1", email: "u1@example.org", segments: ["secured"] }]);
        for (const service of services) {
          const { data } = await json(service, "GET", "/api/entity/user/email/u1@example.org");
          expect(data).to.include({ _uid: "u-1", city: "Oslo", plan: "gold" });
          expect(await statusOf(service, "/api/entity/user/_uid/person-4")).to.equal(200);
        }
      });

      it("points are written and read", async () => {
        const ts = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;
        const series = { dimension: "stream", dimension_id: "secured", dimension_type: "size" };
        await json(services[0], "POST", "/api/metric/points", [{ ...series, value: 12, ts }]);
        const query = `${new URLSearchParams(series)}&interval=1h&startdate=${ts}&enddate=${ts + HOUR}`;
        const shown = async () => {
          const { data } = (await json(services[1], "GET", `/api/metric?${query}`)) as {
            data: [{ values: [{ value: number }] }];
          };
          return data[0].values[0]?.value === 12;
        };
        await until("the other process shows it", shown);
      });

      it("the catalogue is written, listed and deleted", async () => {
        await json(services[0], "PUT", "/api/segment/spare", { name: "Spare", table: "user" });
        await json(services[0], "PUT", "/api/experience/secured", { name: "One", audience: "secured", goal: "spare" });
        expect(await statusOf(services[1], "/api/segment/spare")).to.equal(200);
        const { data } = (await json(services[1], "GET", "/api/segment/sizes?ids=secured")) as {
          data: [{ size: number }];
        };
        expect(data[0].size).to.equal(1);
        await json(services[1], "DELETE", "/api/experience/secured");
        await json(services[1], "DELETE", "/api/segment/spare");
        expect(await statusOf(services[0], "/api/segment/spare")).to.equal(404);
      });

      it("keys are created, listed and revoked", async () => {
        const made = await runToEnd("key", ["create", "--scopes", "metric:read", "--name", "secured"], environment);
        expect(made.code, made.err).to.equal(0);
        const key = made.out.trim();
        expect(await statusOf(services[1], "/metrics", key)).to.equal(200);
        const listed = await runToEnd("key", ["list"], environment);
        expect(listed.out).to.contain("secured");
        expect((await runToEnd("key", ["revoke", key.split("_")[1] as string], environment)).code).to.equal(0);
        await until("it is refused", async () => (await statusOf(services[1], "/metrics", key)) === 401);
      });

      it("a DELETE is completed, and the profile stays erased after both processes are restarted", async () => {
        const id = await removeThrough(services[0], "email/u1@example.org");
        expect(await statusOf(services[1], "/api/entity/user/_uid/u-1")).to.equal(404);
        await until("it is complete", () => isCompleteIn(services[1], id), 60_000);
        await Promise.all(services.map((service) => service.stop()));
        for (const service of await Promise.all([start(), start()])) {
          expect(await isCompleteIn(service, id)).to.equal(true);
          expect(await statusOf(service, "/api/entity/user/_uid/u-1")).to.equal(404);
          expect(await statusOf(service, "/api/entity/user/_uid/person-4")).to.equal(200);
        }
      });

      it("an abandoned transaction is aborted long before the server's own limit", async () => {
        await start();
        const { user, database } = documented();
        const client = new MongoClient(servers.mongod.url(database, user), {
          appName: `entity-metrics ${database}`,
          tlsCAFile: servers.certificates.authority,
        });
        const idle = [{ $currentOp: { allUsers: true, idleSessions: true } }, { $match: { type: "idleSession" } }];
        const isOpen = () =>
          servers.mongod.ask(async (root) => {
            const sessions = await root.db("admin").aggregate(idle).toArray();
            return sessions.some(({ transaction }) => transaction !== undefined);
          });
        try {
          const session = client.startSession();
          session.startTransaction();
          await client.db(database).collection("left_open").insertOne({}, { session });
          expect(await isOpen()).to.equal(true);
          await until("it is aborted", async () => !(await isOpen()), 30_000);
        } finally {
          await client.close();
        }
      });

      it("requests are answered 503 while the user has no rights, and served once the rights are granted again", async () => {
        const service = await start();
        const { user, database } = documented();
        const roles = (names: readonly string[]) =>
          servers.mongod.command("admin", {
            updateUser: user.name,
            roles: names.map((db) => ({ role: "readWrite", db })),
          });
        const path = "/api/entity/user/_uid/person-4";
        await roles([]);
        await until("it is away", async () => (await statusOf(service, path)) !== 200);
        const requests = [
          () => service.fetch(path),
          () => service.fetch("/collect/json/web", { method: "POST", json: { _uid: "u-2" } }),
          () => service.fetch("/api/entity/user/_uid/u-2", { method: "DELETE" }),
          () => service.fetch("/ready"),
        ];
        for (const request of requests) {
          const answer = await request();
          expect([answer.status, Number(answer.headers.get("retry-after")) > 0], await answer.text()).to.deep.equal([
            503,
            true,
          ]);
        }
        await roles([database, `${database}_ledger`]);
        await until("it is served", async () => (await statusOf(service, path)) === 200);
        await collectThrough(service, [{ _uid: "u-2" }]);
      });
    });
  });

  describe("a start is refused in one line that names the server", () => {
    const RIGHTS = "does not let this user use both databases";
    const PASSWORD = "refuses the user or the password";
    const AUTHORITY =
      /^cannot be used: its certificate is of an authority that is not trusted \([A-Z_]+\): NODE_EXTRA_CA_CERTS names the file of one$/;

    /** The line that the operator reads. */
    async function refusal(url: string, authority: string | null = servers.certificates.authority): Promise<string> {
      const own = authority === null ? url : `${url}&tlsCAFile=${encodeURIComponent(authority)}`;
      const settings = { pepper: filled.pepper, entities: { url: own }, limits: { store_deadline_ms: 3000 } };
      const said = await startService(settings).then(
        (service) => service.stop().then(() => "it started"),
        (error: unknown) => startErrorText(error, undefined),
      );
      return said.replace(`ENTITIES_URL: MongoDB at ${servers.mongod.host} `, "");
    }

    const rights: readonly [string, string, string | undefined, string | undefined][] = [
      ["no right", "new_pair", undefined, undefined],
      ["the right to read alone", "entity_metrics", "read", "read"],
      ["the ledger alone", "entity_metrics", undefined, "readWrite"],
      ["the profiles alone", "new_pair", "readWrite", undefined],
      ["no right to write the ledger", "entity_metrics", "readWrite", "read"],
      ["no right to write the profiles", "new_pair", "read", "readWrite"],
    ];
    for (const [title, database, onData, onLedger] of rights) {
      it(`of a user with ${title}, on ${database === "new_pair" ? "new databases" : "databases in use"}`, async () => {
        const user = { name: `${database} ${title}`, password: "p@ss:w/rd" };
        const roles = [
          ...(onData === undefined ? [] : [{ role: onData, db: database }]),
          ...(onLedger === undefined ? [] : [{ role: onLedger, db: `${database}_ledger` }]),
        ];
        await servers.mongod.command("admin", { createUser: user.name, pwd: user.password, roles });
        expect(await refusal(servers.mongod.url(database, user))).to.equal(RIGHTS);
      });
    }

    it("without a user, with another password, with an unknown user, and with another authSource", async () => {
      const { user, database } = documented();
      const urlOf = (who?: User) => servers.mongod.url(database, who);
      expect(await refusal(urlOf())).to.equal(RIGHTS);
      expect(await refusal(urlOf({ ...user, password: "wrong" }))).to.equal(PASSWORD);
      expect(await refusal(urlOf({ ...user, name: "unknown" }))).to.equal(PASSWORD);
      expect(await refusal(urlOf(user).replace("authSource=admin", "authSource=other"))).to.equal(PASSWORD);
    });

    it("of MongoDB, if its certificate is of an unknown authority or for another name", async () => {
      const { user, database } = documented();
      const url = servers.mongod.url(database, user);
      expect(await refusal(url, null)).to.match(AUTHORITY);
      expect(await refusal(url, servers.certificates.otherAuthority)).to.match(AUTHORITY);
      expect(await refusal(url, "/not/there.pem")).to.equal(
        "ENTITIES_URL names the file /not/there.pem, which cannot be read (ENOENT)",
      );
      const elsewhere = servers.mongod.host.replace("127.0.0.1", "0.0.0.0");
      expect(await refusal(url.replace(servers.mongod.host, elsewhere))).to.equal(
        `ENTITIES_URL: MongoDB at ${elsewhere} cannot be used: its certificate is for another name than the URL has`,
      );
    });
  });
});

/** The user that docs/operations.md makes, and the name of the database of its profiles. */
function documented() {
  const page = readFileSync(join(root, "docs/operations.md"), "utf8");
  const [, text = ""] = /^db\.getSiblingDB\("admin"\)\.runCommand\((\{[\s\S]*?\})\)$/m.exec(page) ?? [];
  const command = JSON.parse(text) as { createUser: string; pwd: string; roles: [{ db: string }] };
  return { command, user: { name: command.createUser, password: command.pwd }, database: command.roles[0].db };
}

async function json(service: RealService, method: string, path: string, json?: unknown): Promise<{ data: object }> {
  const answer = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
  const body = (await answer.json()) as { data: object };
  expect(answer.status, `${method} ${path}: ${JSON.stringify(body)}`).to.equal(200);
  return body;
}
