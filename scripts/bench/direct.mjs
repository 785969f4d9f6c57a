// Measures the servers without the service: the same queries and writes, sent to them directly.
import { inBatches } from "./load.mjs";

/** InfluxDB through its official client. */
export async function fluxClient({ url, org, token, bucket }) {
  const { InfluxDB } = await import("@influxdata/influxdb-client");
  const influx = new InfluxDB({ url: url.href, token });
  const reads = influx.getQueryApi(org);

  return {
    /** Reads all points of these series in [from, to) with one query; resolves with its rows. */
    rows(ids, { from, to }) {
      const anyOf = ids.map((id) => `r.dimension_id == ${JSON.stringify(id)}`).join(" or ");
      return reads.collectRows(`from(bucket: ${JSON.stringify(bucket)})
  |> range(start: ${new Date(from).toISOString()}, stop: ${new Date(to).toISOString()})
  |> filter(fn: (r) => r._measurement == "stream" and r._field == "value" and r.dimension_type == "size" and (${anyOf}))
  |> keep(columns: ["dimension_id", "_time", "_value"])`);
    },

    /** Writes texts of lines (times in ms), one batch each, `count` at a time; resolves with the seconds. */
    async write(texts, count) {
      const source = texts[Symbol.iterator]();
      const begun = performance.now();
      const writer = async () => {
        for (let next = source.next(); !next.done; next = source.next()) {
          const options = { batchSize: next.value.length + 1, flushInterval: 0, maxRetries: 0 };
          const batch = influx.getWriteApi(org, bucket, "ms", options);
          batch.writeRecords(next.value);
          await batch.flush(false);
          await batch.close();
        }
      };
      await Promise.all(Array.from({ length: count }, writer));
      return (performance.now() - begun) / 1000;
    },
  };
}

/** Documents per insert, equal to the messages per request. */
const BATCH = 500;

/**
 * Inserts every document of both databases into new collections, once without indexes and once with the original ones.
 * Resolves with the number of documents and the seconds of each run.
 */
export async function insertAgain({ mongo, name }) {
  const { MongoClient } = await import("mongodb");
  const client = new MongoClient(mongo, { writeConcern: { w: "majority", journal: true } });
  const collections = [];
  for (const database of [name, `${name}_ledger`]) {
    for (const { name: collection } of await client.db(database).listCollections({}, { nameOnly: true }).toArray()) {
      const source = client.db(database).collection(collection);
      const documents = await source.find().toArray();
      const indexes = await ownIndexes(source);
      if (documents.length > 0) collections.push({ name: `${database}.${collection}`, documents, indexes });
    }
  }
  const fresh = client.db(`${name}_direct`);
  const count = collections.reduce((sum, { documents }) => sum + documents.length, 0);
  const insertAll = async (isIndexed) => {
    for (const { name: collection, indexes } of collections) {
      await fresh.createCollection(collection);
      if (isIndexed && indexes.length > 0) await fresh.collection(collection).createIndexes(indexes);
    }
    const start = performance.now();
    for (const { name: collection, documents } of collections) {
      for (let from = 0; from < documents.length; from += BATCH) {
        await fresh.collection(collection).insertMany(documents.slice(from, from + BATCH), { ordered: false });
      }
    }
    const seconds = (performance.now() - start) / 1000;
    for (const { name: collection } of collections) await fresh.collection(collection).drop();
    return seconds;
  };
  // Warm-up: code that has just been loaded is compiled first.
  await insertAll(false);
  const seconds = await insertAll(false);
  const indexedSeconds = await insertAll(true);
  await client.close();
  return { count, seconds, indexedSeconds };
}

/** Returns the indexes of a collection except the one on `_id`. */
async function ownIndexes(collection) {
  return (await collection.indexes()).filter(({ name }) => name !== "_id_");
}

/**
 * Repeats the MongoDB operations of messages about known profiles with the driver alone, on copies of the documents of
 * the service: a find of identities, then of profiles and of keys, then a transaction that changes the profiles and
 * inserts as many messages. Nothing is encrypted or planned. Two requests of `BATCH` profiles run at a time. Resolves
 * with the number of documents written and the seconds.
 */
export async function changeAgain({ mongo, name }) {
  const { MongoClient } = await import("mongodb");
  const client = new MongoClient(mongo, { writeConcern: { w: "majority", journal: true } });
  const copy = async (database, collection) => {
    const source = client.db(database).collection(collection);
    const target = client.db(`${name}_direct`).collection(collection);
    const indexes = await ownIndexes(source);
    if (indexes.length > 0) await target.createIndexes(indexes);
    const documents = await source.find().toArray();
    await target.insertMany(documents, { ordered: false });
    return { target, documents };
  };
  const identities = await copy(name, "identities");
  const profiles = await copy(name, "entities");
  const messages = await copy(name, "messages");
  const keys = await copy(`${name}_ledger`, "entity_keys");
  const holders = identities.documents.filter(({ _id }) => typeof _id === "string");
  const oneEach = [...new Map(holders.map((document) => [document.entity, document])).values()];
  const sealed = new Map(profiles.documents.map((document) => [document._id, document.sealed]));
  const [message] = messages.documents;

  async function change(batch, round) {
    const found = await identities.target.find({ _id: { $in: batch.map(({ _id }) => _id) } }).toArray();
    const those = { _id: { $in: found.map(({ entity }) => entity) } };
    await Promise.all([profiles.target.find(those).toArray(), keys.target.find(those).toArray()]);
    const updates = batch.map(({ entity }) => {
      return {
        updateOne: { filter: { _id: entity }, update: { $set: { revision: round, sealed: sealed.get(entity) } } },
      };
    });
    const inserts = batch.map(({ entity }) => ({ ...message, _id: `${round} ${entity}`, entity }));
    await client.withSession((session) =>
      session.withTransaction(async () => {
        await profiles.target.bulkWrite(updates, { session });
        await messages.target.insertMany(inserts, { session });
      }),
    );
  }

  const changeAll = (round) =>
    inBatches(oneEach.length, BATCH, (numbers) =>
      change(
        numbers.map((n) => oneEach[n]),
        round,
      ),
    );

  // Warm-up, as above.
  await changeAll(1);
  const seconds = await changeAll(2);
  for (const { target } of [identities, profiles, messages, keys]) await target.drop();
  await client.close();
  return { count: 2 * oneEach.length, seconds };
}
