// The servers without the service: what is asked of it, asked of them.
import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true });

/** Reads all points of these series in [from, to) with one Flux query; resolves with how many there were. */
export function fluxQuery({ url, org, token, bucket }, ids, { from, to }) {
  const anyOf = ids.map((id) => `r.dimension_id == ${JSON.stringify(id)}`).join(" or ");
  const query = `from(bucket: ${JSON.stringify(bucket)})
  |> range(start: ${new Date(from).toISOString()}, stop: ${new Date(to).toISOString()})
  |> filter(fn: (r) => r._measurement == "stream" and r._field == "value" and r.dimension_type == "size" and (${anyOf}))
  |> keep(columns: ["dimension_id", "_time", "_value"])`;
  const body = JSON.stringify({ query, dialect: { annotations: [], header: false } });
  const headers = {
    Authorization: `Token ${token}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    Accept: "application/csv",
  };
  const path = `/api/v2/query?org=${encodeURIComponent(org)}`;
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { agent, method: "POST", headers }, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.once("error", reject);
      answer.once("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (answer.statusCode === 200) resolve(text.split("\n").filter((line) => line.trim() !== "").length);
        else reject(new Error(`InfluxDB answered ${answer.statusCode}: ${text.slice(0, 300)}`));
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

/** Documents in one insert: as many as messages in one request. */
const BATCH = 500;

/**
 * Inserts every document of both databases into fresh collections, once without indexes and once with those that it was found under; resolves with how many
 * there were, and the seconds that each took.
 */
export async function insertAgain({ mongo, name }) {
  const { MongoClient } = await import("mongodb");
  const client = new MongoClient(mongo, { writeConcern: { w: "majority", journal: true } });
  const collections = [];
  for (const database of [name, `${name}_ledger`]) {
    for (const { name: collection } of await client.db(database).listCollections({}, { nameOnly: true }).toArray()) {
      const source = client.db(database).collection(collection);
      const documents = await source.find().toArray();
      const indexes = (await source.indexes()).filter(({ name: index }) => index !== "_id_");
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
  // What has just started is compiled first.
  await insertAll(false);
  const seconds = await insertAll(false);
  const indexedSeconds = await insertAll(true);
  await client.close();
  return { count, seconds, indexedSeconds };
}
