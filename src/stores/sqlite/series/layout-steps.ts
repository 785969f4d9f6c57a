import type { Database } from "../connection.js";
import type { UpgradeStep } from "../open-database.js";
import { extended, type Runs, storedForm } from "./chunk-lists.js";
import { placeOfRow, rowOf } from "./chunks.js";
import { refuseDamagedTable } from "./damaged-table.js";

/** Steps of `metrics.db` from the layout of version 1.0.0. */
export const seriesSteps: readonly UpgradeStep[] = [listChunks];

/** Adds the list of its chunks to each series. The length of its slots follows from its dimension. */
function listChunks(db: Database): void {
  refuseDamagedTable(db, "chunk");
  db.exec(`ALTER TABLE series DROP COLUMN slot_ms;
    ALTER TABLE series ADD COLUMN chunks BLOB;
    ALTER TABLE series ADD COLUMN sum INTEGER`);
  const update = db.prepare("UPDATE series SET chunks = ?, sum = ? WHERE id = ?");
  const store = (series: number, runs: Runs) => {
    const { chunks, sum } = storedForm(series, runs);
    update.run(chunks, sum, series);
  };
  let series = 0;
  let runs: Runs = [];
  for (const { row } of db.prepare("SELECT id AS row FROM chunk ORDER BY id").iterate() as Iterable<{ row: number }>) {
    const next = placeOfRow(row).series;
    if (next !== series) {
      store(series, runs);
      series = next;
      runs = [];
    }
    runs = extended(runs, row - rowOf(series, 0));
  }
  store(series, runs);
}
