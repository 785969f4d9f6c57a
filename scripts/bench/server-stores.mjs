// Names of the data of the benchmark on servers, which is removed at the end.
import { randomBytes } from "node:crypto";

const VARIABLES = ["TEST_MONGODB_URL", "TEST_INFLUXDB_URL", "TEST_INFLUXDB_TOKEN", "TEST_REDIS_URL"];

/** Returns the environment variables of servers that are not set. */
export function missingServers() {
  return VARIABLES.filter((name) => !process.env[name]);
}

/** Returns names for one run: settings for the service, and addresses for direct access. */
export function serverStores() {
  const {
    TEST_MONGODB_URL,
    TEST_INFLUXDB_URL,
    TEST_INFLUXDB_TOKEN: token,
    TEST_INFLUXDB_ORG: org = "",
    TEST_REDIS_URL,
  } = process.env;
  const name = `bench_${randomBytes(6).toString("hex")}`;
  const mongo = new URL(TEST_MONGODB_URL);
  mongo.pathname = `/${name}`;
  const influx = new URL(TEST_INFLUXDB_URL);
  const query = `org=${encodeURIComponent(org)}&bucket=${name}`;
  const redis = new URL(TEST_REDIS_URL);
  redis.searchParams.set("prefix", name);
  return {
    name,
    mongo: mongo.href,
    influx: { url: influx, org, token, bucket: name },
    redis: TEST_REDIS_URL,
    environment: {
      ENTITIES_URL: mongo.href,
      METRICS_URL: `${influx.protocol === "https:" ? "influxdbs" : "influxdb"}://${influx.host}/?${query}`,
      INFLUX_TOKEN: token,
      JOBS_URL: redis.href,
      PEPPER: randomBytes(32).toString("hex"),
    },
  };
}

/** Removes all data of a run. */
export async function dropStores({ name, mongo, influx, redis }) {
  const { MongoClient } = await import("mongodb");
  const client = new MongoClient(mongo, { serverSelectionTimeoutMS: 5000 });
  for (const database of [name, `${name}_ledger`, `${name}_direct`]) await client.db(database).dropDatabase();
  await client.close();

  const headers = { Authorization: `Token ${influx.token}` };
  const found = await fetch(new URL(`/api/v2/buckets?name=${name}`, influx.url), { headers });
  const { buckets = [] } = await found.json();
  for (const { id } of buckets)
    await fetch(new URL(`/api/v2/buckets/${id}`, influx.url), { method: "DELETE", headers });

  const { Redis } = await import("ioredis");
  const connection = new Redis(redis, { maxRetriesPerRequest: 1 });
  for await (const keys of connection.scanStream({ match: `*${name}*`, count: 1000 })) {
    if (keys.length > 0) await connection.del(keys);
  }
  connection.disconnect();
}
