import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mintKey } from "../../src/keys/verify-key.js";
import { segment, stream } from "../../src/metrics/dimensions.js";
import { type Database, DatabaseSync } from "../../src/stores/sqlite/connection.js";
import { dataFolder } from "./data-folder.js";
import { startService, type TestService } from "./service.js";
import { until } from "./until.js";

const fixtures = fileURLToPath(new URL("../fixtures/", import.meta.url));
const files = ["ledger", "entities", "metrics"] as const;

/** The clock of a kept folder, Unix ms: it neither expires nor grows. */
export const KEPT_AT = Date.UTC(2026, 0, 15, 12, 30);

/** Ids with which the data of the files is read. */
export interface KeptIds {
  readonly key: string;
  readonly revokedKey: string;
  readonly requestId: string;
}

/** Series of the kept folders: two slots, of which the second was written in both sources. */
export const keptSeries = { dimension: segment, id: "news", type: "size" };
export const keptWindow = { from: slotsBefore(segment.slotMs, 2), to: slotsBefore(segment.slotMs, 0) };
export const keptPoints = { dimension: stream, id: "web", type: "size" };

/** Names of the kept folders, oldest layout first. */
export function keptFolders(): string[] {
  const numbers = readdirSync(fixtures).flatMap((name) => /^embedded-(\d+)$/.exec(name)?.[1] ?? []);
  return numbers.sort((a, b) => Number(a) - Number(b)).map((number) => `embedded-${number}`);
}

/** Makes a data folder of a kept one. */
export function openKept(name: string): { readonly dir: string; readonly ids: KeptIds } {
  const dir = dataFolder();
  for (const file of files) {
    const db = new DatabaseSync(join(dir, `${file}.db`));
    db.exec(readFileSync(join(fixtures, name, `${file}.sql`), "utf8"));
    db.close();
  }
  return { dir, ids: JSON.parse(readFileSync(join(fixtures, name, "ids.json"), "utf8")) };
}

/** Starts a service on a folder that is kept, at its time and with its pepper. */
export function startKept(dir: string): Promise<TestService> {
  return startService(
    { pepper: "the pepper of the kept data folders" },
    { dir, clock: () => KEPT_AT, onServers: false },
  );
}

/** Fills a folder through the service, stops it, and keeps its files as SQL under the number of their layout. */
export async function keepLayout(): Promise<string> {
  const dir = dataFolder();
  const ids = await fill(dir);
  const version = Math.max(...files.map((file) => readFile(dir, file, layoutVersion)));
  const to = join(fixtures, `embedded-${version}`);
  mkdirSync(to, { recursive: true });
  for (const file of files) writeFileSync(join(to, `${file}.sql`), readFile(dir, file, asSql));
  writeFileSync(join(to, "ids.json"), `${JSON.stringify(ids, undefined, 2)}\n`);
  rmSync(dir, { recursive: true });
  return to;
}

async function fill(dir: string): Promise<KeptIds> {
  const service = await startKept(dir);
  const send = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const response = await service.fetch(path, { method, headers, ...(json === undefined ? {} : { json }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { data: { request_id: string; completed: boolean } }).data;
  };
  for (const id of ["news", "beta", "gone"]) await send("PUT", `/api/segment/${id}`, { name: id, table: "user" });
  await send("PUT", "/api/experience/welcome", { name: "Welcome", audience: "news", goal: "beta" });
  const people = ["ada", "bob", "eve"].map((name) => ({
    _uid: name,
    email: `${name}@example.com`,
    city: "Oslo",
    segments: ["news", "gone"],
  }));
  await send("POST", "/collect/json/web", people, { "Idempotency-Key": "kept" });
  await send("POST", "/collect/json/mobile", [
    { _uid: "ada-on-the-phone", segments: { add: ["beta"] } },
    { _uid: "ada-on-the-phone", email: "ada@example.com" },
    { _uid: "bob", segments: ["beta"] },
  ]);
  await send("DELETE", "/api/segment/gone");
  const { request_id: requestId } = await send("DELETE", "/api/entity/user/_uid/eve");
  await until("the deletion", async () => (await send("GET", `/api/entity/deletestatus/${requestId}`)).completed);
  const { series, keys } = service.service.stores;
  const ts = [slotsBefore(stream.slotMs, 3), slotsBefore(stream.slotMs, 2)];
  const names = { dimension: stream.name, dimension_id: keptPoints.id, dimension_type: keptPoints.type };
  await send("POST", "/api/metric/points", { series: [names], ts, values: [[41, 42.5]] });
  await series.write("recorder", [{ series: keptSeries, from: keptWindow.from, values: Float64Array.of(1, 2) }]);
  await series.write("clients", [
    { series: keptSeries, from: keptWindow.from, values: Float64Array.of(Number.NaN, 20) },
  ]);
  const [valid, revoked] = ["valid", "revoked"].map((name) => mintKey(name, ["metric:read"], KEPT_AT)) as [
    ReturnType<typeof mintKey>,
    ReturnType<typeof mintKey>,
  ];
  for (const { kept } of [valid, revoked]) await keys.add(kept);
  await keys.revoke(revoked.kept.id, KEPT_AT);
  await service.stop({ keep: true });
  return { key: valid.key, revokedKey: revoked.key, requestId };
}

/** Reads a file that no service has open. */
export function readFile<T>(dir: string, file: (typeof files)[number], read: (db: Database) => T): T {
  const db = new DatabaseSync(join(dir, `${file}.db`));
  try {
    return read(db);
  } finally {
    db.close();
  }
}

export function layoutVersion(db: Database): number {
  return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** In: a database. Out: SQL that makes the same one of an empty file. */
function asSql(db: Database): string {
  const schema = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all() as { type: string; name: string; sql: string }[];
  const tables = schema.filter(({ type }) => type === "table").map(({ name }) => name);
  const sequences = db
    .prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'")
    .all()
    .map(() => "sqlite_sequence");
  const rows = [...tables, ...sequences].flatMap((table) => {
    const columns = (db.prepare("SELECT name FROM pragma_table_info(?)").all(table) as { name: string }[]).map(
      ({ name }) => `quote("${name}")`,
    );
    const values = db.prepare(`SELECT ${columns.join(" || ', ' || ")} AS list FROM "${table}"`).all() as {
      list: string;
    }[];
    return [
      ...(table === "sqlite_sequence" ? ["DELETE FROM sqlite_sequence;"] : []),
      ...values.map(({ list }) => `INSERT INTO "${table}" VALUES (${list});`),
    ];
  });
  const lines = ["PRAGMA foreign_keys = OFF;", ...schema.map(({ sql }) => `${sql};`), ...rows];
  return `${[...lines, `PRAGMA user_version = ${layoutVersion(db)};`].join("\n")}\n`;
}

/** The start of the slot of `KEPT_AT`, or of one so many slots before, Unix ms. */
function slotsBefore(slotMs: number, count: number): number {
  return (Math.floor(KEPT_AT / slotMs) - count) * slotMs;
}
