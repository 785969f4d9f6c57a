import { Binary, type Db, type Document, MongoClient, type Timestamp } from "mongodb";
import { mongodbUrl } from "../../support/servers.js";

/** Searches of the two databases of a name, and of the oplog of their server. */
export interface Databases {
  /** Every id that a deletion names or that ever had a key. */
  idsInLedger(): Promise<Set<string>>;
  /** Collections outside the ledger with documents that name one of these ids in any field. */
  naming(ids: ReadonlySet<string>): Promise<string[]>;
  /** Collections outside the ledger with a document that has binary values, which is what sealed ones are. */
  withBinaries(): Promise<string[]>;
  /** Collections of the server's own databases, and the oplog since the opening, that contain any of these texts. */
  containing(texts: readonly string[]): Promise<string[]>;
  /** Messages that are counted for a stream in slots from `from` on, before `to`, Unix ms. */
  countMessages(stream: string, from: number, to: number): Promise<number>;
  close(): Promise<void>;
}

/** To be called before the first write whose traces are looked for. */
export async function openDatabases(name: string): Promise<Databases> {
  const client = new MongoClient(mongodbUrl(name), { promoteBuffers: false });
  const data = client.db(name);
  const ledger = client.db(`${name}_ledger`);
  const oplog = client.db("local").collection("oplog.rs");
  const [newest] = await oplog.find({}).sort({ $natural: -1 }).limit(1).toArray();
  const since = newest?.ts as Timestamp;

  return {
    async idsInLedger() {
      const deletions = await ledger.collection("deletions").find({}).toArray();
      const keys = await ledger.collection("entity_keys").find({}).toArray();
      return new Set<string>([...deletions.flatMap(({ entities }) => entities), ...keys.map(({ _id }) => String(_id))]);
    },

    naming: (ids) => where(data, (value) => typeof value === "string" && namesOneOf(value, ids)),

    withBinaries: () => where(data, (value) => value instanceof Binary),

    async containing(texts) {
      const needles = texts.map((text) => Buffer.from(text));
      const found: string[] = [];
      for (const db of [client.db("config"), client.db("admin")]) {
        for (const { name: collection, type } of await db.listCollections().toArray()) {
          if (type === "view") continue;
          const documents = db.collection(collection).find({}, { raw: true }) as unknown as AsyncIterable<Buffer>;
          if (await anyContains(documents, needles)) found.push(`${db.databaseName}.${collection}`);
        }
      }
      const [oldest] = await oplog.find({}).sort({ $natural: 1 }).limit(1).toArray();
      if (oldest?.ts.greaterThan(since)) throw new Error("The oplog does not reach back to the start");
      const entries = oplog.find({ ts: { $gte: since } }, { raw: true }) as unknown as AsyncIterable<Buffer>;
      if (await anyContains(entries, needles)) found.push("local.oplog.rs");
      return found;
    },

    async countMessages(stream, from, to) {
      const ofSlots = [
        { $match: { stream, slot: { $gte: from, $lt: to } } },
        { $unionWith: { coll: "added_counts", pipeline: [{ $match: { stream, slot: { $gte: from, $lt: to } } }] } },
        { $group: { _id: null, count: { $sum: "$count" } } },
      ];
      const [sum] = await data.collection("stream_counts").aggregate(ofSlots).toArray();
      return sum?.count ?? 0;
    },

    close: () => client.close(),
  };
}

async function anyContains(documents: AsyncIterable<Buffer>, needles: readonly Buffer[]): Promise<boolean> {
  for await (const bytes of documents) if (needles.some((needle) => bytes.includes(needle))) return true;
  return false;
}

/** Collections with a document in which a value, at any depth, is as asked; with the first such document. */
async function where(db: Db, isRequested: (value: unknown) => boolean): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
    for await (const document of db.collection(name).find()) {
      if (!hasValue(document, isRequested)) continue;
      found.push(`${name} ${JSON.stringify(document)}`);
      break;
    }
  }
  return found;
}

function hasValue(value: unknown, isRequested: (value: unknown) => boolean): boolean {
  if (isRequested(value)) return true;
  if (typeof value !== "object" || value === null || value instanceof Binary) return false;
  return Object.entries(value as Document).some(([name, inner]) => isRequested(name) || hasValue(inner, isRequested));
}

/** An id is 32 hex characters, which may be part of a longer text. */
function namesOneOf(text: string, ids: ReadonlySet<string>): boolean {
  if (ids.has(text)) return true;
  for (let at = 0; at + ID_LENGTH <= text.length; at += 1) if (ids.has(text.slice(at, at + ID_LENGTH))) return true;
  return false;
}

const ID_LENGTH = 32;
