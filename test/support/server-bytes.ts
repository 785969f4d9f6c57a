import { existsSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findBytes } from "./files.js";
import { withMongo } from "./mongo-client.js";
import { redisUrl } from "./servers.js";

/** A stored document or key. */
interface Kept {
  readonly where: string;
  readonly bytes: Buffer;
}

/** Documents and keys of this name, and files of Redis, that contain any of these byte strings. */
export async function findOnServers(name: string, needles: readonly Uint8Array[]): Promise<string[]> {
  const kept = [...(await documentsOf(name)), ...(await keysOf(name))];
  const hits = kept
    .filter(({ bytes }) => needles.some((needle) => bytes.includes(Buffer.from(needle))))
    .map(({ where }) => where);
  const files = await redisFiles();
  if (files !== undefined) hits.push(...findBytes(files, needles).map(({ file }) => file));
  return hits;
}

/** Every document of both databases. */
async function documentsOf(name: string): Promise<Kept[]> {
  return withMongo(async (client) => {
    const kept: Kept[] = [];
    for (const db of [client.db(name), client.db(`${name}_ledger`)]) {
      for (const { name: collection } of await db.listCollections().toArray()) {
        const documents = await db.collection(collection).find({}, { raw: true }).toArray();
        for (const bytes of documents as unknown as Buffer[])
          kept.push({ where: `${db.databaseName}.${collection}`, bytes });
      }
    }
    return kept;
  });
}

/** Every key of Redis, with its value in the format of its type. */
async function keysOf(name: string): Promise<Kept[]> {
  const redis = new Redis(redisUrl(name));
  const readers: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, "0", "-1"),
    stream: (key) => redis.xrange(key, "-", "+"),
  };
  try {
    const kept: Kept[] = [];
    for await (const keys of redis.scanStream({ match: `${name}*`, count: 1000 })) {
      for (const key of keys as string[]) {
        const value = await readers[await redis.type(key)]?.(key);
        kept.push({ where: `redis ${key}`, bytes: Buffer.from(`${key} ${JSON.stringify(value)}`) });
      }
    }
    return kept;
  } finally {
    redis.disconnect();
  }
}

/** Folder of Redis' append-only files; undefined if it is not on this machine. */
async function redisFiles(): Promise<string | undefined> {
  const redis = new Redis(redisUrl(""));
  try {
    const [, dir = "", , folder = ""] = (await redis.config("GET", "dir", "appenddirname")) as string[];
    const path = join(dir, folder);
    return existsSync(path) ? path : undefined;
  } finally {
    redis.disconnect();
  }
}
