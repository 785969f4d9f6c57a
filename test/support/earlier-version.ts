import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BSON, MongoClient } from "mongodb";
import { dataFolder } from "./data-folder.js";
import { mongodbUrl, testPepper } from "./servers.js";
import type { FetchOptions, Overrides } from "./service.js";
import { root } from "./source-tree.js";

/** Data that version 1.0.0 wrote: see `test/fixtures/README.md`. */
const WRITTEN = join(root, "test/fixtures/version-1.0.0");

/** A request, with the response of version 1.0.0. */
export interface Answered extends Pick<FetchOptions, "method" | "json"> {
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/** Where version 1.0.0 stored its profiles. */
export type EarlierEngine = "folder" | "mongodb";

/** Content of the data, from the file `expected.json`. */
export interface Expected {
  /** Unix ms: an hour after its last change. */
  readonly now: number;
  readonly readerKey: string;
  readonly revokedKey: string;
  /** Request ids. */
  readonly completed: readonly string[];
  readonly notNotified: string;
  readonly atTarget: string;
  readonly waiting: string;
  readonly open: readonly string[];
  /** Claims of receipts by request id, without the version of the program. */
  readonly receipts: Readonly<Record<string, object>>;
  readonly repeated: readonly { path: string; idempotencyKey: string; json: unknown; data?: object[] }[];
  readonly repeatedCall: { readonly path: string; readonly json: unknown };
}

/** A copy of the data for one test. */
export interface EarlierData {
  readonly dir: string;
  readonly settings: Overrides;
  readonly environment: Record<string, string>;
  readonly expected: Expected;
  readonly answers: readonly Answered[];
}

/** Copies the folder, or loads the documents into new databases of this name. */
export async function earlierData(engine: EarlierEngine, name: string): Promise<EarlierData> {
  const written = join(WRITTEN, engine);
  const dir = dataFolder();
  const found = {
    dir,
    expected: JSON.parse(readFileSync(join(written, "expected.json"), "utf8")) as Expected,
    answers: linesOf(join(written, "answers.jsonl")) as Answered[],
  };
  if (engine === "folder") {
    for (const file of ["ledger.db", "entities.db", "metrics.db", "ledger.accepted", "pepper"])
      cpSync(join(written, file), join(dir, file));
    return { ...found, settings: {}, environment: {} };
  }
  const client = new MongoClient(mongodbUrl(name));
  for (const [file, database] of [
    ["data.jsonl", name],
    ["ledger.jsonl", `${name}_ledger`],
  ] as const) {
    const documents = new Map<string, object[]>();
    for (const { collection, document } of linesOf(join(written, file)) as { collection: string; document: object }[])
      documents.set(collection, [...(documents.get(collection) ?? []), BSON.EJSON.deserialize(document) as object]);
    for (const [collection, all] of documents) await client.db(database).collection(collection).insertMany(all);
  }
  await client.close();
  const url = mongodbUrl(name);
  return {
    ...found,
    settings: { pepper: testPepper, entities: { url } },
    environment: { PEPPER: testPepper, ENTITIES_URL: url },
  };
}

function linesOf(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
