import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { compose } from "../src/compose.js";
import { settingList } from "../src/config/schema.js";
import { readSettings } from "../src/config/settings.js";
import { openLog } from "../src/log.js";
import { serviceClock } from "../src/service-clock.js";
import { dataFolder } from "./support/data-folder.js";
import { freePort } from "./support/free-port.js";
import { adminKey, type FetchOptions, type StartOptions, startService, type TestService } from "./support/service.js";
import { until } from "./support/until.js";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 2, 2, 10);
const OTHER_KEY = `em_other_${"k".repeat(32)}`;

const web = { dimension: "stream", dimension_id: "web", dimension_type: "size" };
const query = "/api/metric?dimension=stream&dimension_id=web&dimension_type=size&interval=1h&range=2d";

type Environment = Readonly<Record<string, string>>;

interface Trial {
  /** Name of the setting in the environment. */
  readonly name: string;
  /** An empty folder. */
  readonly dir: string;
  /** A service with this value of the setting in its environment, or with the shipped one. */
  start(value?: string, more?: Environment, options?: StartOptions): Promise<TestService>;
}

type Effect = (trial: Trial) => Promise<void>;
type Ask = (service: TestService) => Promise<unknown>;

/** For each setting, the test that changes it and observes the effect. */
const shownElsewhere: Readonly<Record<string, string>> = {
  alerts: "http/alerts",
  "http.trust_proxy": "http/rates",
  "http.key_in_query": "http/keys",
  "http.cors.origins": "http/cors",
  "http.drain_ms": "http/graceful-stop",
  pepper: "start",
  "log.level": "start",
  "metrics.token": "stores/influxdb/address",
  "jobs.url": "faults/redis-away",
  "deletions.retention": "faults/webhook",
  "metrics.retention": "journeys/metric",
  "deletions.targets": "journeys/deletion",
  webhook: "faults/webhook",
  "limits.store_deadline_ms": "faults/deadline",
  "limits.read_bytes": "http/large-reads",
  "limits.requests_per_key": "http/load-refusals",
  "limits.requests": "http/load-refusals",
  "limits.rate_per_key": "http/rates",
};

describe("a change of the setting", function () {
  this.timeout(120_000);
  const dirs: string[] = [];
  const running = new Set<TestService>();
  const newDir = () => {
    const dir = dataFolder();
    dirs.push(dir);
    return dir;
  };
  afterEach(async () => {
    for (const service of running) await service.stop();
    running.clear();
    for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
  });

  const environmentOf = (environment: Environment) => ({
    ...{ PORT: "0", DATA_DIR: newDir(), ADMIN_KEY: adminKey, LOG_LEVEL: "silent" },
    ...environment,
  });

  for (const { name, environment } of settingList.filter(({ name }) => !(name in shownElsewhere))) {
    it(`${name} (${environment}) changes the behaviour of the service`, async () => {
      const effect = effects[name];
      if (effect === undefined) throw new Error(`This test has no effect of ${name}: add one`);
      await effect({
        name: environment,
        dir: newDir(),
        async start(value, more = {}, options = {}) {
          const own = value === undefined ? {} : { [environment]: value };
          const settings = readSettings(environmentOf({ ...more, ...own }));
          const service = await startService(settings, { dir: settings.data_dir, ...options });
          const stop = service.stop.bind(service);
          const tracked = {
            ...service,
            stop: (how?: { keep: boolean }) => {
              running.delete(tracked);
              return stop(how);
            },
          };
          running.add(tracked);
          return tracked;
        },
      });
    });
  }

  it("is tested here or in a named file, for exactly the existing settings", () => {
    const shown = [...Object.keys(effects), ...Object.keys(shownElsewhere)];
    expect(shown.sort()).to.deep.equal(settingList.map(({ name }) => name).sort());
  });
});

/** The request has the first result as shipped, the second one with `value`. */
const differs =
  (ask: Ask, value: string, [shipped, changed]: [unknown, unknown], more: Environment = {}): Effect =>
  async ({ start }) => {
    expect(await ask(await start(undefined, more)), "as shipped").to.deep.equal(shipped);
    expect(await ask(await start(value, more)), `with ${value}`).to.deep.equal(changed);
  };

const status =
  (path: string, init: FetchOptions = {}): Ask =>
  async (service) => {
    const response = await service.fetch(path, init);
    await response.arrayBuffer();
    return response.status;
  };
const posted = (path: string, json: unknown) => status(path, { method: "POST", json });
const codes =
  (path: string): Ask =>
  async (service) => {
    const { errors = [] } = (await (await service.fetch(path)).json()) as { errors?: { code: string }[] };
    return errors.map(({ code }) => code);
  };
const padded = (json: unknown): FetchOptions => ({
  method: "POST",
  body: `${JSON.stringify(json)}${" ".repeat(2000)}`,
  headers: { "content-type": "application/json" },
});
const dataOf = async (service: TestService, path: string, init: FetchOptions) =>
  ((await (await service.fetch(path, init)).json()) as { data: Record<string, unknown> }).data;
const segments = status("/api/segment");

/** Reads of the series' store for the same question twice. */
const readsOfStore: Ask = async (service) => {
  expect(await posted("/api/metric/points", [point])(service)).to.equal(200);
  const { series } = service.service.stores;
  const { read } = series;
  let reads = 0;
  series.read = (...asked) => {
    reads += 1;
    return read.apply(series, asked);
  };
  for (let i = 0; i < 2; i += 1) expect(await status(query)(service)).to.equal(200);
  return reads;
};

/** Deletes ann, and resolves with the path of the request's state. */
async function deleteAnn(service: TestService): Promise<string> {
  await service.fetch("/collect/json/web", { method: "POST", json: { email: "ann@example.com" } });
  const { request_id: id } = await dataOf(service, "/api/entity/user/email/ann%40example.com", { method: "DELETE" });
  return `/api/entity/deletestatus/${id}`;
}

/** Another place for a file of the embedded stores. */
const filesAt =
  (file: string, urlOf: (dir: string) => string): Effect =>
  async ({ start, dir }) => {
    await start();
    expect(existsSync(join(dir, file)), "as shipped").to.equal(false);
    await start(urlOf(dir));
    expect(existsSync(join(dir, file)), "with another place").to.equal(true);
  };

const point = { ...web, value: 1, ts: Date.now() - HOUR };
const person = { _uid: "ann", segments: ["a", "b"] };

/** For each setting, the effect of a change. */
const effects: Readonly<Record<string, Effect>> = {
  "http.host": differs(async ({ url }) => new URL(url).hostname, "0.0.0.0", ["127.0.0.1", "0.0.0.0"]),
  "http.port": async ({ start }) => {
    const port = await freePort();
    expect((await start(String(port))).port).to.equal(port);
  },
  data_dir: filesAt("ledger.db", (dir) => dir),
  tables_file: async (trial) => {
    const file = join(trial.dir, "tables.json");
    writeFileSync(file, '[{ "name": "pet", "identities": ["chip"], "default_identity": "chip" }]');
    await differs(posted("/collect/json/web?table=pet", { chip: "1" }), file, [404, 200])(trial);
  },
  roles: differs(segments, "worker", [200, 404]),
  admin_key: differs(status("/api/segment", { key: OTHER_KEY }), OTHER_KEY, [401, 200]),
  "entities.url": filesAt("entities.db", (dir) => `sqlite:${dir}`),
  "metrics.url": filesAt("metrics.db", (dir) => `sqlite:${dir}`),
  "history.retention": async ({ name, dir }) => {
    const cutOffs: number[] = [];
    for (const environment of [{}, { [name]: "1h" }]) {
      const settings = { DATA_DIR: dir, PORT: "0", ADMIN_KEY: adminKey, ...environment };
      const service = await compose(
        readSettings(settings),
        serviceClock(() => NOW),
        openLog("silent"),
      );
      service.stores.history.expire = async (before) => {
        cutOffs.push(before);
        return false;
      };
      let rounds = 0;
      service.stores.idempotency.forget = async () => {
        rounds += 1;
      };
      await service.listen();
      await until("the history was maintained", () => rounds > 0);
      await service.stop();
    }
    expect(cutOffs.map(Math.floor)).to.deep.equal([NOW - HOUR]);
  },
  "deletions.due": async (trial) => {
    const days = async (service: TestService) => {
      const path = (await deleteAnn(service)).replace("entity/deletestatus", "deletion");
      const { accepted_at, due_at } = (await dataOf(service, path, {})) as { accepted_at: string; due_at: string };
      return (Date.parse(due_at) - Date.parse(accepted_at)) / (24 * HOUR);
    };
    await differs(days, "2w", [30, 14])(trial);
  },
  "limits.body_bytes": differs(status("/api/metric", padded(web)), "1024", [200, 413]),
  "limits.write_body_bytes": differs(status("/api/metric/points", padded([point])), "1024", [200, 413]),
  "limits.batch_series": differs(posted("/api/metric", [web, web]), "1", [200, 413]),
  "limits.response_values": differs(codes(query), "10", [[], ["too_many_values"]]),
  "limits.batch_points": differs(posted("/api/metric/points", [point, point]), "1", [200, 413]),
  "limits.batch_messages": differs(posted("/collect/json/web", [person, person]), "1", [200, 413]),
  "cache.bytes": differs(readsOfStore, "0", [1, 2]),
};
