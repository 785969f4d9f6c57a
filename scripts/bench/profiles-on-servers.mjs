// Measures profiles on MongoDB against the driver alone, with as many concurrent operations.
import { Agent } from "node:http";
import { changeAgain, insertAgain } from "./direct.mjs";
import { inBatches, sendFor } from "./load.mjs";
import { quantile } from "./quantile.mjs";
import { line } from "./table.mjs";

/** Messages per request. */
const MESSAGES = 500;
/** Concurrent single operations, and the number that is measured. */
const AT_ONCE = 64;
const MOST_SINGLE = 2_000;
const READERS = 4;
/** Messages of the warm-up. */
const WARM_UP = 2_000;

/** Returns the lines about profiles on `stores`. `people` is the number of profiles that the batches create. */
export async function measureProfiles({ service, stores, key, people, say }) {
  const direct = await openDirect(stores);
  const lines = [];
  const count = Math.min(MOST_SINGLE, 10 * people);
  const post = (messages, agent) =>
    sendFor(200, service, { method: "POST", path: "/collect/json/bench", body: JSON.stringify(messages), agent }, key);

  say("on servers: messages in batches");
  // Warm-up: code that has just been loaded is compiled first.
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
  const versusInsertMany = (what, perSecond) => {
    for (const [peer, seconds] of [
      ["insertMany", again.seconds],
      ["insertMany, same indexes", again.indexedSeconds],
    ]) {
      const inserted = again.count / seconds;
      lines.push(line(`${people} messages, ${what}`, "documents/s", perSecond, peer, inserted, { more: true }));
    }
  };
  versusInsertMany("new profiles", written / fresh);
  // A message about a known profile writes two documents, itself and the profile.
  versusInsertMany("known profiles", (2 * people) / known);
  const changed = await changeAgain(stores);
  versusInsertMany("known profiles, the driver alone", changed.count / changed.seconds);

  // New connections: the service could close an idle one of an earlier step at the moment of the next request.
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
  const versusInsertOne = (what, { rate: perSecond }) =>
    line(`${what}, ${AT_ONCE} at once`, "a second", perSecond, "insertOne", insertOne.rate, { more: true });
  lines.push(versusInsertOne("single messages", single));
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
  lines.push(versusInsertOne("DELETE acknowledged", deleted));
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

/** Runs an operation for each number below `count`, `atOnce` at a time. */
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

/** Opens the driver alone: single documents of the size of a message, with majority and journal. */
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
    /** Returns identities of the service with their profiles. */
    holders: (limit) => identities.find({}, { limit }).toArray(),
    /** Repeats the queries of a read by identity: the identity, then the profile and its key. */
    async findProfile({ _id }) {
      const { entity } = await identities.findOne({ _id });
      await Promise.all([entities.findOne({ _id: entity }), keys.findOne({ _id: entity })]);
    },
    /** Returns the number of documents in both databases of the service. */
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
