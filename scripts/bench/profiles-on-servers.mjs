// Profiles on MongoDB: what requests cost beside the driver alone, with as many operations under way.
import { Agent } from "node:http";
import { changeAgain, insertAgain } from "./direct.mjs";
import { inBatches, sendFor } from "./load.mjs";
import { quantile } from "./quantile.mjs";
import { line } from "./table.mjs";

/** Messages in one request. */
const MESSAGES = 500;
/** Single operations under way at once, and how many are measured. */
const AT_ONCE = 64;
const MOST_SINGLE = 2_000;
const READERS = 4;
/** Messages that are sent before anything is measured. */
const WARM_UP = 2_000;

/** Lines that say what profiles cost on `stores`. `people` is how many the batches make. */
export async function measureProfiles({ service, stores, key, people, say }) {
  const direct = await openDirect(stores);
  const lines = [];
  const count = Math.min(MOST_SINGLE, 10 * people);
  const post = (messages, agent) =>
    sendFor(200, service, { method: "POST", path: "/collect/json/bench", body: JSON.stringify(messages), agent }, key);

  say("on servers: messages in batches");
  // A service that has just started is compiled first.
  await inBatches(WARM_UP, MESSAGES, (batch) =>
    post(batch.map((n) => ({ ...personOf(n), _uid: `early-${n}`, email: undefined }))),
  );
  await inBatches(WARM_UP, MESSAGES, (batch) => post(batch.map((n) => ({ _uid: `early-${n}`, visits: n % 50 }))));
  const before = await direct.documents();
  const fresh = await inBatches(people, MESSAGES, (batch) => post(batch.map(personOf)));
  const written = (await direct.documents()) - before;
  const known = await inBatches(people, MESSAGES, (batch) =>
    post(batch.map((n) => ({ _uid: `person-${n}`, visits: n % 50 }))),
  );
  const again = await insertAgain(stores);
  const besideInsertMany = (what, perSecond) => {
    for (const [beside, seconds] of [
      ["insertMany", again.seconds],
      ["insertMany, same indexes", again.indexedSeconds],
    ]) {
      const inserted = again.count / seconds;
      lines.push(line(`${people} messages, ${what}`, "documents/s", perSecond, beside, inserted, { more: true }));
    }
  };
  besideInsertMany("new profiles", written / fresh);
  // A message about a known profile writes two documents: itself and the profile.
  besideInsertMany("known profiles", (2 * people) / known);
  const changed = await changeAgain(stores);
  besideInsertMany("known profiles, the driver alone", changed.count / changed.seconds);

  // Sockets of an earlier step may be idle for so long that the service closes them at the moment of the next request.
  let agent = newAgent();
  const nextAgent = () => {
    agent.destroy();
    agent = newAgent();
  };
  say("on servers: single messages");
  const insertOne = await rate(count, AT_ONCE, (n) => direct.insertOne(n));
  const start = await direct.transactions();
  const single = await rate(count, AT_ONCE, (n) => post({ _uid: `single-${n}`, city: "Oslo" }, agent));
  const end = await direct.transactions();
  const besideInsertOne = (what, { rate: perSecond }) =>
    line(`${what}, ${AT_ONCE} at once`, "a second", perSecond, "insertOne", insertOne.rate, { more: true });
  lines.push(besideInsertOne("single messages", single));
  lines.push(
    line(
      "transactions that were run again",
      "of all",
      end.aborted - start.aborted,
      "started",
      end.started - start.started,
    ),
  );

  say("on servers: reads");
  nextAgent();
  const read = await rate(count, READERS, (n) =>
    sendFor(200, service, { method: "GET", path: `/api/entity/user/_uid/single-${n}`, agent }, key),
  );
  const found = await rate(count, READERS, (n) => direct.findOne(n));
  const holders = await direct.holders(count);
  const alone = await rate(holders.length, READERS, (n) => direct.findProfile(holders[n]));
  lines.push(line(`read by identity, ${READERS} at once`, "p50 ms", read.p50, "findOne", found.p50));
  lines.push(line("read by identity, the driver alone", "p50 ms", alone.p50, "findOne", found.p50));

  say("on servers: deletions");
  nextAgent();
  const remove = (uid) => sendFor(200, service, { method: "DELETE", path: `/api/entity/user/_uid/${uid}`, agent }, key);
  await rate(count / 4, AT_ONCE, (n) => remove(`early-${n}`));
  const deleted = await rate(count / 2, AT_ONCE, (n) => remove(`single-${n}`));
  lines.push(besideInsertOne("DELETE acknowledged", deleted));
  agent.destroy();
  await direct.close();
  return lines;
}

function newAgent() {
  return new Agent({ keepAlive: true, maxSockets: AT_ONCE });
}

function personOf(n) {
  return {
    _uid: `person-${n}`,
    email: `person-${n}@example.com`,
    city: ["Lisbon", "Oslo", "Vienna"][n % 3],
    visits: n % 40,
    segments: ["all", `part-${n % 5}`],
  };
}

/** Runs an operation for each number below `count`, so many at once. */
async function rate(count, atOnce, operation) {
  const times = [];
  let next = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) {
        const n = next++;
        const start = performance.now();
        await operation(n);
        times.push(performance.now() - start);
      }
    }),
  );
  return { rate: (1000 * count) / (performance.now() - begun), p50: quantile(times, 0.5) };
}

/** The driver alone: single documents of a message's size, kept by a majority and journaled. */
async function openDirect({ mongo, name }) {
  const { Binary, MongoClient } = await import("mongodb");
  const client = new MongoClient(mongo, { writeConcern: { w: "majority", journal: true } });
  const documents = client.db(`${name}_direct`).collection("single");
  const sealed = new Binary(Buffer.alloc(120, 1));
  const [identities, entities] = ["identities", "entities"].map((own) => client.db(name).collection(own));
  const keys = client.db(`${name}_ledger`).collection("entity_keys");
  return {
    insertOne: (n) =>
      documents.insertOne({ _id: `m${n}`, stream: "bench", slot: 0, entity: "e".repeat(32), time: n, sealed }),
    findOne: (n) => documents.findOne({ _id: `m${n}` }),
    /** So many identities of the service, with who holds them. */
    holders: (limit) => identities.find({}, { limit }).toArray(),
    /** What a read by identity asks for: the identity, then the profile and its key. */
    async findProfile({ _id }) {
      const { entity } = await identities.findOne({ _id });
      await Promise.all([entities.findOne({ _id: entity }), keys.findOne({ _id: entity })]);
    },
    /** How many documents both databases of the service hold. */
    async documents() {
      const stats = await Promise.all([name, `${name}_ledger`].map((database) => client.db(database).stats()));
      return stats.reduce((sum, { objects }) => sum + objects, 0);
    },
    async transactions() {
      const { transactions } = await client.db("admin").command({ serverStatus: 1 });
      return { started: Number(transactions.totalStarted), aborted: Number(transactions.totalAborted) };
    },
    close: () => client.close(),
  };
}
