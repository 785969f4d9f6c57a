import { expect } from "chai";
import { compose } from "../src/compose.js";
import { settingList } from "../src/config/schema.js";
import { readSettings } from "../src/config/settings.js";
import { openLog } from "../src/log.js";
import { serviceClock } from "../src/service-clock.js";
import { dataFolder } from "./support/data-folder.js";
import { adminKey, type FetchOptions, startService, type TestService } from "./support/service.js";
import { until } from "./support/until.js";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 2, 2, 10);
const common = { PORT: "0", ADMIN_KEY: adminKey, LOG_LEVEL: "silent" };

const web = { dimension: "stream", dimension_id: "web", dimension_type: "size" };
const query = "/api/metric?dimension=stream&dimension_id=web&dimension_type=size&interval=1h&range=2d";

/** A service with this value of the setting in its environment, or with the shipped one. */
type Start = (value?: string) => Promise<TestService>;

type Effect = (start: Start, name: string) => Promise<void>;
type Ask = (service: TestService) => Promise<unknown>;

/** For each setting, the test that changes it and observes the effect. */
const shownElsewhere: Readonly<Record<string, string>> = {
  admin_key: "start",
  alerts: "http/alerts",
  data_dir: "start",
  "entities.url": "start",
  "http.port": "start",
  "limits.batch_messages": "http/segment",
  "limits.batch_points": "http/openapi-bodies",
  "limits.batch_series": "http/openapi-bodies",
  "limits.response_values": "dashboard/fetch-series",
  "metrics.url": "start",
  roles: "servers/processes",
  tables_file: "http/tables",
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
  hooks: "hooks/hooks",
  "limits.store_deadline_ms": "faults/deadline",
  "limits.read_bytes": "http/large-reads",
  "limits.requests_per_key": "http/load-refusals",
  "limits.requests": "http/load-refusals",
  "limits.rate_per_key": "http/rates",
};

describe("a change of the setting", function () {
  this.timeout(120_000);

  for (const { name, environment } of settingList.filter(({ name }) => !(name in shownElsewhere))) {
    it(`${name} (${environment}) changes the behaviour of the service`, async () => {
      const effect = effects[name];
      if (effect === undefined) throw new Error(`This test has no effect of ${name}: add one`);
      const start: Start = (value) => {
        const own = value === undefined ? {} : { [environment]: value };
        const settings = readSettings({ ...common, DATA_DIR: dataFolder(), ...own });
        return startService(settings, { dir: settings.data_dir });
      };
      await effect(start, environment);
    });
  }

  it("is tested here or in a named file, for exactly the existing settings", () => {
    const shown = [...Object.keys(effects), ...Object.keys(shownElsewhere)];
    expect(shown.sort()).to.deep.equal(settingList.map(({ name }) => name).sort());
  });
});

/** The request has the first result as shipped, the second one with `value`. */
const differs =
  (ask: Ask, value: string, [shipped, changed]: [unknown, unknown]): Effect =>
  async (start) => {
    expect(await ask(await start()), "as shipped").to.deep.equal(shipped);
    expect(await ask(await start(value)), `with ${value}`).to.deep.equal(changed);
  };

const status =
  (path: string, init: FetchOptions = {}): Ask =>
  async (service) => {
    const response = await service.fetch(path, init);
    await response.arrayBuffer();
    return response.status;
  };
const posted = (path: string, json: unknown) => status(path, { method: "POST", json });
const padded = (json: unknown): FetchOptions => ({
  method: "POST",
  body: `${JSON.stringify(json)}${" ".repeat(2000)}`,
  headers: { "content-type": "application/json" },
});
const dataOf = async (service: TestService, path: string, init: FetchOptions) =>
  ((await (await service.fetch(path, init)).json()) as { data: Record<string, unknown> }).data;

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

const point = { ...web, value: 1, ts: Date.now() - HOUR };

/** For each setting, the effect of a change. */
const effects: Readonly<Record<string, Effect>> = {
  "http.host": differs(async ({ url }) => new URL(url).hostname, "0.0.0.0", ["127.0.0.1", "0.0.0.0"]),
  "history.retention": async (_, name) => {
    const cutOffs: number[] = [];
    for (const environment of [{}, { [name]: "1h" }]) {
      const settings = { ...common, DATA_DIR: dataFolder(), ...environment };
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
        return false;
      };
      await service.listen();
      await until("the history was maintained", () => rounds > 0);
      await service.stop();
    }
    expect(cutOffs.map(Math.floor)).to.deep.equal([NOW - HOUR]);
  },
  "deletions.due": (start, name) => {
    const days = async (service: TestService) => {
      const path = (await deleteAnn(service)).replace("entity/deletestatus", "deletion");
      const { accepted_at, due_at } = (await dataOf(service, path, {})) as { accepted_at: string; due_at: string };
      return (Date.parse(due_at) - Date.parse(accepted_at)) / (24 * HOUR);
    };
    return differs(days, "2w", [30, 14])(start, name);
  },
  "limits.body_bytes": differs(status("/api/metric", padded(web)), "1024", [200, 413]),
  "limits.write_body_bytes": differs(status("/api/metric/points", padded([point])), "1024", [200, 413]),
  "cache.bytes": differs(readsOfStore, "0", [1, 2]),
};
