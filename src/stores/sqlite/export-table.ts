import type { CopyRecord, PartSource } from "../copy.js";
import type { Database } from "./database.js";

/** Records handed out at once. */
const BATCH = 500;

/** A table (or a query in its place) whose rows become records. */
export interface ExportedTable<Row, R extends CopyRecord> {
  readonly from: string;
  /** Columns that tell rows apart; more than one make a composite id. */
  readonly keys: readonly string[];
  /** The records of some rows, in any order. */
  readonly records: (rows: Row[]) => R[] | Promise<R[]>;
}

/** Reads a table that nobody writes to meanwhile. */
export function exportTable<Row, R extends CopyRecord>(db: Database, table: ExportedTable<Row, R>): PartSource<R> {
  const { from, keys, records } = table;
  const counted = db.prepare(`SELECT count(*) AS count FROM ${from}`);
  const everything = db.prepare(`SELECT * FROM ${from} ORDER BY ${keys.join(", ")}`);
  const wanted =
    keys.length === 1
      ? `${keys[0]} IN (SELECT value FROM json_each(?))`
      : `(${keys.join(", ")}) IN (SELECT ${keys.map((_, i) => `json_extract(value, '$[${i}]')`).join(", ")} FROM json_each(?))`;
  const some = db.prepare(`SELECT * FROM ${from} WHERE ${wanted}`);

  return {
    count: async () => (counted.get() as { count: number }).count,

    async *all() {
      let rows: Row[] = [];
      for (const row of everything.iterate()) {
        rows.push(row as Row);
        if (rows.length < BATCH) continue;
        yield await records(rows);
        rows = [];
      }
      if (rows.length > 0) yield await records(rows);
    },

    async find(ids) {
      const values = keys.length === 1 ? JSON.stringify(ids) : `[${ids.join(",")}]`;
      return records(some.all(values) as Row[]);
    },
  };
}
