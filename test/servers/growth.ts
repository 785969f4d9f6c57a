import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect } from "chai";
import { Redis } from "ioredis";
import { dataFolder } from "../support/data-folder.js";
import { withMongo } from "../support/mongo-client.js";
import { processSet } from "../support/process-set.js";
import { type RealService, startReal } from "../support/real-service.js";
import { collectThrough, isCompleteIn } from "../support/requests.js";
import { onServers, redisUrl } from "../support/servers.js";
import { sideBySide } from "../support/side-by-side.js";
import { until } from "../support/until.js";

/** Tests that starts and deletions leave no data except the promised, on both sets of engines. */
export function growthTests(starts: number, erasures: number): void {
  const title = `keeps only the ledger and counts of messages after ${starts} starts and ${erasures} deletions (P30)`;

  describe("a service on the embedded engine", () => {
    it(title, async () => {
      const service = restartedEmbedded();
      try {
        expect(await grownOver(service, { starts, erasures }, keptEmbedded)).to.deep.equal([]);
      } finally {
        await service.close();
      }
    });
  });

  onServers(["mongodb", "influxdb", "bullmq"], "a service on servers", () => {
    it(title, async () => {
      const service = await restartedOnServers();
      try {
        expect(await grownOver(service, { starts, erasures }, keptOnServers)).to.deep.equal([]);
      } finally {
        await service.close();
      }
    });
  });
}

/** Number of documents or rows by table or collection. */
type Sizes = ReadonlyMap<string, number>;

/** A service that is started repeatedly on the same data. */
interface Restarted {
  start(): Promise<RealService>;
  sizes(): Promise<Sizes>;
  close(): Promise<void>;
}

/** The number of documents or rows that a DELETE of a person may leave in each store. */
type Promised = Readonly<Record<string, number>>;

/** Two profiles and the list of identities have a key each, which is overwritten; messages are counted in place. */
const keptEmbedded: Promised = {
  "ledger.db deletion": 1,
  "ledger.db erased_entity": 3,
  "ledger.db erased_identity": 2,
  "ledger.db entity_key": 3,
};

/** The same in the database of the ledger. */
const keptOnServers: Promised = {
  "ledger deletions": 1,
  "ledger erased_identities": 2,
  "ledger entity_keys": 3,
};

const AT_ONCE = 50;
const HOUR = 3_600_000;
const SETTLED_WITHIN_MS = 60_000;
/** BullMQ gives a job of a killed process to another one after its second look, 30 s after the first. */
const JOBS_SETTLED_WITHIN_MS = 120_000;
const MAX_TRIES = 20;

/**
 * Starts the service so often, kills it every other time, and collects, merges and erases so many people. Returns a
 * line for each store that has grown by more than the promised amount.
 */
async function grownOver(
  service: Restarted,
  { starts, erasures }: { readonly starts: number; readonly erasures: number },
  promised: Promised,
): Promise<string[]> {
  let people = 0;
  let requests = 0;
  const life = async (erased: number, end: (running: RealService) => Promise<void>) => {
    const running = await service.start();
    for (const last = people + erased; people < last; ) {
      const some = Math.min(AT_ONCE, last - people);
      requests += await eraseSome(running, people, some);
      people += some;
    }
    await end(running);
  };
  /** Undefined if an hour has ended since the start: values recorded per slot must not be counted. */
  const within = async (hour: number): Promise<string[] | undefined> => {
    await life(AT_ONCE, async (running) => {
      for (const segment of SEGMENTS)
        await until("its size is saved", () => isSaved(running, segment), SETTLED_WITHIN_MS);
      await running.stop();
    });
    await life(AT_ONCE, (running) => running.stop());
    const before = await service.sizes();
    const [from, sentBefore] = [people, requests];
    for (let index = 0; index < starts - 1; index += 1) {
      if (hourNow() !== hour) return undefined;
      const wanted = Math.ceil((erasures * (index + 1)) / starts) - (people - from);
      await life(wanted, (running) => (index % 2 === 0 ? running.kill() : running.stop()));
    }
    let grown: string[] = [];
    await life(erasures - (people - from), async (running) => {
      const look = async () => {
        grown = differences(before, await service.sizes(), promised, requests - sentBefore);
        return grown.length === 0;
      };
      await until("nothing has grown", look, JOBS_SETTLED_WITHIN_MS).catch(() => {});
      await running.stop();
    });
    return hourNow() === hour ? grown : undefined;
  };
  // If an hour ends during the first attempt, the second one begins at the start of an hour.
  const grown = (await within(hourNow())) ?? (await within(hourNow()));
  if (grown === undefined)
    throw new Error("It takes longer than an hour: only fewer starts and erasures can be counted");
  return grown;
}

const hourNow = () => Math.floor(Date.now() / HOUR);

/** Runs on the embedded engine, in a temporary folder. */
function restartedEmbedded(): Restarted {
  const dir = dataFolder();
  let last: RealService | undefined;
  return {
    async start() {
      last = await startReal(dir, { LOG_LEVEL: "warn" });
      return last;
    },
    sizes: async () => new Map(readdirSync(dir).flatMap((file) => (file.endsWith(".db") ? rowsOf(dir, file) : []))),
    close: async () => last?.kill(),
  };
}

/** Runs on the three servers, under a unique name. */
async function restartedOnServers(): Promise<Restarted> {
  const set = await processSet();
  return {
    start: () => set.start("api,worker"),
    sizes: async () => new Map([...(await documentsOf(set.name)), ...(await keysOf(set.name))]),
    close: () => set.close(),
  };
}

const SEGMENTS = ["one", "two"];

async function isSaved(running: RealService, segment: string): Promise<boolean> {
  const path = `/api/metric?dimension=segment&dimension_id=${segment}&dimension_type=size&interval=2h&range=4h`;
  const { data } = (await (await running.fetch(path)).json()) as { data: [{ values: unknown[] }] };
  return data[0].values.length > 0;
}

/** Resolves with the number of DELETEs sent. */
async function eraseSome(running: RealService, first: number, count: number): Promise<number> {
  const people = Array.from({ length: count }, (_, index) => first + index);
  const apart = people.flatMap((person) => [
    { email: `p${person}@example.org`, plan: "gold", segments: ["one"] },
    { user_id: `id-${person}`, city: "Rome", segments: ["two"] },
  ]);
  await collectThrough(running, apart);
  // Merges the two profiles of each person.
  await collectThrough(
    running,
    people.map((person) => ({ email: `p${person}@example.org`, user_id: `id-${person}` })),
  );
  const ids: string[] = [];
  let requests = 0;
  await sideBySide(people, async (person) => {
    const path = person % 2 === 0 ? `email/p${person}@example.org` : `user_id/id-${person}`;
    const { id, sent } = await removeWhenServed(running, path);
    ids.push(id);
    requests += sent;
  });
  for (const id of ids) await until("it is complete", () => isCompleteIn(running, id), SETTLED_WITHIN_MS);
  return requests;
}

/**
 * Repeats a DELETE that is answered 503 after the time that the response names. The one before may have been accepted,
 * so the requests are counted.
 */
async function removeWhenServed(running: RealService, path: string): Promise<{ id: string; sent: number }> {
  for (let sent = 1; ; sent += 1) {
    const answer = await running.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
    const { data } = (await answer.json()) as { data: { request_id: string } | null };
    if (answer.status === 200 && data !== null) return { id: data.request_id, sent };
    const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
    if (answer.status !== 503 || Number.isNaN(seconds) || sent === MAX_TRIES)
      throw new Error(`DELETE: ${answer.status}`);
    await delay(1_000 * seconds);
  }
}

function differences(before: Sizes, after: Sizes, promised: Promised, requests: number): string[] {
  return [...after].flatMap(([name, size]) => {
    const growth = size - (before.get(name) ?? 0);
    const most = requests * (promised[name] ?? 0);
    return growth <= most ? [] : [`${name}: ${growth} more, not ${most}, after ${requests} DELETEs`];
  });
}

function rowsOf(dir: string, file: string): [string, number][] {
  const db = new DatabaseSync(join(dir, file), { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[];
    return tables.map(({ name }) => {
      const { rows } = db.prepare(`SELECT count(*) AS rows FROM "${name}"`).get() as { rows: number };
      return [`${file} ${name}`, rows];
    });
  } finally {
    db.close();
  }
}

async function documentsOf(name: string): Promise<[string, number][]> {
  return withMongo(async (client) => {
    const sizes: [string, number][] = [];
    for (const [word, db] of [
      ["data", client.db(name)],
      ["ledger", client.db(`${name}_ledger`)],
    ] as const) {
      for (const { name: collection } of await db.listCollections({}, { nameOnly: true }).toArray())
        sizes.push([`${word} ${collection}`, await db.collection(collection).countDocuments({})]);
    }
    return sizes;
  });
}

/**
 * Keys of Redis by kind, and the number of items in them; streams are counted by key alone. The marker by which BullMQ
 * wakes its workers is left out: a queue has one or none.
 */
async function keysOf(name: string): Promise<Sizes> {
  const redis = new Redis(redisUrl(name));
  const lengths: Record<string, (key: string) => Promise<number>> = {
    hash: (key) => redis.hlen(key),
    list: (key) => redis.llen(key),
    set: (key) => redis.scard(key),
    zset: (key) => redis.zcard(key),
  };
  const sizes = new Map<string, number>();
  try {
    for await (const page of redis.scanStream({ match: `${name}*`, count: 1000 })) {
      for (const key of page as string[]) {
        if (key.endsWith(":marker")) continue;
        const kind = `redis ${key.slice(name.length).replaceAll(/[0-9a-f-]{8,}|\d+/g, "*")}`;
        const inside = (await lengths[await redis.type(key)]?.(key)) ?? 0;
        sizes.set(kind, (sizes.get(kind) ?? 0) + 1 + inside);
      }
    }
    return sizes;
  } finally {
    redis.disconnect();
  }
}
