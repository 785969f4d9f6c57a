import { Redis } from "ioredis";
import { withMongo } from "./mongo-client.js";
import { influxdbToken, redisUrl } from "./servers.js";

/** Removes all data of this name: both databases, the bucket, the keys. */
export async function dropFromServers(name: string): Promise<void> {
  await Promise.all([dropDatabases(name), dropBucket(name), dropKeys(name)]);
}

export async function dropDatabases(name: string): Promise<void> {
  await withMongo(async (client) => {
    for (const database of [name, `${name}_ledger`]) await client.db(database).dropDatabase();
  });
}

/** Removes a bucket of InfluxDB, with all that is in it. */
export async function dropBucket(name: string): Promise<void> {
  const buckets = new URL("/api/v2/buckets", process.env.TEST_INFLUXDB_URL);
  const headers = { authorization: `Token ${influxdbToken()}` };
  const found = await fetch(`${buckets}?name=${encodeURIComponent(name)}`, { headers });
  const { buckets: [bucket] = [] } = (await found.json()) as { buckets?: { id: string }[] };
  if (bucket !== undefined) await fetch(`${buckets}/${bucket.id}`, { method: "DELETE", headers });
}

async function dropKeys(name: string): Promise<void> {
  const redis = new Redis(redisUrl(name));
  try {
    for await (const keys of redis.scanStream({ match: `${name}*`, count: 1000 })) {
      if ((keys as string[]).length > 0) await redis.del(...(keys as string[]));
    }
  } finally {
    redis.disconnect();
  }
}
