import { randomBytes } from "node:crypto";
import { StartError } from "../../errors.js";
import type { Database } from "./database.js";

/** In `ledger.db` and in `entities.db`: a random mark of the ledger that the data was made with. */
export const ledgerMarkSchema =
  "CREATE TABLE IF NOT EXISTS ledger_mark (one INTEGER PRIMARY KEY CHECK (one = 1), mark TEXT NOT NULL)";

/**
 * Refuses data whose ledger is gone, is another's, or knows of fewer erasures than the data: the keys of its profiles
 * would be missing, and who was erased since would be unknown. Data older than its ledger is what a backup brings, and is let in.
 */
export function matchLedger(ledger: Database, entities: Database, dir: string): void {
  const mark = markOf(ledger) ?? makeMark(ledger);
  const known = markOf(entities);
  if (known !== undefined && known !== mark) {
    throw new StartError(
      `ledger.db in ${dir} is missing or another one's: put back the newest one that entities.db was used with`,
    );
  }
  if (known === undefined) keepMark(entities, mark);
  if (seenBy(entities) > acceptedBy(ledger)) {
    throw new StartError(`ledger.db in ${dir} is older than entities.db: put back the newest one`);
  }
}

function markOf(db: Database): string | undefined {
  return (db.prepare("SELECT mark FROM ledger_mark").get() as { mark: string } | undefined)?.mark;
}

function makeMark(db: Database): string {
  const mark = randomBytes(16).toString("hex");
  keepMark(db, mark);
  return mark;
}

function keepMark(db: Database, mark: string): void {
  db.prepare("INSERT INTO ledger_mark (one, mark) VALUES (1, ?)").run(mark);
}

/** Number of the newest deletion that the data has seen. */
function seenBy(entities: Database): number {
  const row = entities.prepare("SELECT sequence FROM erasure_watermark").get() as { sequence: number } | undefined;
  return row?.sequence ?? 0;
}

/** Number of the newest deletion that was ever accepted. */
function acceptedBy(ledger: Database): number {
  const row = ledger.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'deletion'").get();
  return (row as { seq: number } | undefined)?.seq ?? 0;
}
