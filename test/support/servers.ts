import { createHash, randomBytes } from "node:crypto";
import type { Overrides } from "./service.js";

/** Engines that need a server, and programs of servers that tests start, each with its variable. */
const variables = {
  mongodb: "TEST_MONGODB_URL",
  mongod: "TEST_MONGOD",
  influxdb: "TEST_INFLUXDB_URL",
  influxd: "TEST_INFLUXD",
  bullmq: "TEST_REDIS_URL",
  "redis-server": "TEST_REDIS_SERVER",
} as const;

export type ServerEngine = keyof typeof variables;

const required = new Set((process.env.REQUIRE_ENGINES ?? "").split(",").filter((name) => name !== ""));
if (required.has("mongodb")) required.add("mongod");
if (required.has("influxdb")) required.add("influxd");
if (required.has("bullmq")) required.add("redis-server");

/**
 * Describes tests that need the servers of these engines. Where one is missing, the output names it, or, when
 * REQUIRE_ENGINES lists it, they fail.
 */
export function onServers(engines: readonly ServerEngine[], title: string, tests: (this: Mocha.Suite) => void): void {
  const missing = engines.filter((engine) => !process.env[variables[engine]]);
  if (missing.length === 0) {
    describe(title, tests);
    return;
  }
  const reason = `not run: no server for ${missing.join(", ")} (${missing.map((engine) => variables[engine]).join(", ")})`;
  const isRequired = missing.some((engine) => required.has(engine));
  describe(title, () => {
    if (isRequired) {
      it(reason, () => {
        throw new Error("REQUIRE_ENGINES asks for it");
      });
    } else it(reason);
  });
}

/** Whether a whole service under test keeps its data on the servers instead of in files. */
export const storesOnServers = process.env.TEST_STORES === "servers";

/** Several test processes share the servers, so deadlines that no test is about are longer than usual. */
export const PATIENT = { limits: { store_deadline_ms: 60_000 } } satisfies Overrides;

/** Returns the number of repetitions in a test: on servers they take many times as long as embedded. */
export function amount(embedded: number, servers: number): number {
  return storesOnServers ? servers : embedded;
}

/** A name for a database, a bucket or a prefix of keys that no other test uses. */
export function ownName(): string {
  return `test_${randomBytes(6).toString("hex")}`;
}

/** The same name for the same folder: a service that is started again on it finds its data again. */
export function nameOf(dir: string): string {
  return `test_${createHash("sha256").update(dir).digest("hex").slice(0, 12)}`;
}

/** URL of a database of MongoDB; another server than the usual one may be named, a proxy for one. */
export function mongodbUrl(database: string, server = variable("mongodb")): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** URL of a bucket of InfluxDB, which is made when it is first used. */
export function influxdbUrl(bucket: string, server = variable("influxdb")): string {
  const { host, protocol } = new URL(server);
  const org = encodeURIComponent(process.env.TEST_INFLUXDB_ORG ?? "");
  return `${protocol === "https:" ? "influxdbs" : "influxdb"}://${host}/?org=${org}&bucket=${bucket}`;
}

export function influxdbToken(): string {
  return process.env.TEST_INFLUXDB_TOKEN ?? "";
}

/** URL of Redis for keys that begin with this prefix. */
export function redisUrl(prefix: string, server = variable("bullmq")): string {
  const url = new URL(server);
  url.searchParams.set("prefix", prefix);
  return url.href;
}

export const testPepper = process.env.TEST_PEPPER ?? "a-pepper-for-tests-only-0123456789abcdef";

/** Settings of a service with its data on the three servers, under one name. */
export function onServersOnly(name: string): Overrides {
  return {
    pepper: testPepper,
    entities: { url: mongodbUrl(name) },
    metrics: { url: influxdbUrl(name), token: influxdbToken() },
    jobs: { url: redisUrl(name) },
  };
}

/** The same settings as the environment of a process of its own. */
export function environmentOnServers(name: string, mongodb?: string): Record<string, string> {
  return {
    PEPPER: testPepper,
    ENTITIES_URL: mongodbUrl(name, mongodb),
    METRICS_URL: influxdbUrl(name),
    INFLUX_TOKEN: influxdbToken(),
    JOBS_URL: redisUrl(name),
  };
}

function variable(engine: ServerEngine): string {
  const value = process.env[variables[engine]];
  if (value === undefined) throw new Error(`${variables[engine]} is not set`);
  return value;
}
