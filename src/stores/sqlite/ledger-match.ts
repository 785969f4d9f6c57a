import { ledgerMismatch } from "../../deletions/match-ledger.js";
import type { ErasureWatermark } from "../../deletions/ports.js";
import { StartError } from "../../errors.js";
import { randomId } from "../../ids.js";
import type { Database } from "./connection.js";

/** In `ledger.db` and in `entities.db`: a random mark of the ledger that the data was made with. */
export const ledgerMarkSchema =
  "CREATE TABLE IF NOT EXISTS ledger_mark (one INTEGER PRIMARY KEY CHECK (one = 1), mark TEXT NOT NULL)";

/** Refuses data that does not belong to its ledger: see `ledgerMismatch`. Marks new data. */
export function matchLedger(ledger: Database, entities: Database, dir: string): void {
  const mark = markOf(ledger) ?? makeMark(ledger);
  const known = markOf(entities);
  const forgotten = forgottenBy(ledger);
  const mismatch = ledgerMismatch({
    ledger: { mark, accepted: acceptedBy(ledger), forgotten, hasNewestKeys: hasKeys(ledger, newestEntities(entities)) },
    data: { mark: known, ...seenBy(entities) },
  });
  if (mismatch === "another ledger") {
    throw new StartError(
      `ledger.db in ${dir} is missing or another one's: put back the newest one that entities.db was used with`,
    );
  }
  if (mismatch === "older ledger") {
    throw new StartError(`ledger.db in ${dir} is older than entities.db: put back the newest one`);
  }
  if (mismatch === "data older than forgotten requests") {
    throw new StartError(
      `entities.db in ${dir} is older than deletions that ledger.db has forgotten (deletions.keep): put back a newer one`,
    );
  }
  if (known !== undefined) return;
  noteSeen(entities)(0, forgotten);
  keepMark(entities, mark);
}

function markOf(db: Database): string | undefined {
  return (db.prepare("SELECT mark FROM ledger_mark").get() as { mark: string } | undefined)?.mark;
}

function makeMark(db: Database): string {
  const mark = randomId();
  keepMark(db, mark);
  return mark;
}

function keepMark(db: Database, mark: string): void {
  db.prepare("INSERT INTO ledger_mark (one, mark) VALUES (1, ?)").run(mark);
}

/** Number of the newest deletion that was ever accepted. */
function acceptedBy(ledger: Database): number {
  const row = ledger.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'deletion'").get();
  return (row as { seq: number } | undefined)?.seq ?? 0;
}

/** Number of the newest deletion that was ever forgotten. */
function forgottenBy(ledger: Database): number {
  const row = ledger.prepare("SELECT sequence FROM forgotten_deletion").get() as { sequence: number } | undefined;
  return row?.sequence ?? 0;
}

/** More than are ever made at one time: a key that an older ledger lacks is that of one of the newest. */
const NEWEST = 1000;

/** Ids of the newest profiles, and of profiles that the newest messages are for: they may have been merged since. */
function newestEntities(entities: Database): string[] {
  const rows = entities
    .prepare(`SELECT * FROM (SELECT id FROM entity ORDER BY rowid DESC LIMIT ?1)
      UNION SELECT entity FROM (SELECT entity FROM message ORDER BY arrival DESC LIMIT ?1)`)
    .all(NEWEST);
  return (rows as { id: string }[]).map(({ id }) => id);
}

/** Whether the ledger has a key of each of these ids, overwritten or not. */
function hasKeys(ledger: Database, ids: readonly string[]): boolean {
  const found = ledger
    .prepare("SELECT count(*) AS count FROM entity_key WHERE entity IN (SELECT value FROM json_each(?))")
    .get(JSON.stringify(ids)) as { count: number };
  return found.count === ids.length;
}

/** One row each, kept with the data they speak of. */
export const erasureWatermarkSchema = `
  CREATE TABLE IF NOT EXISTS erasure_watermark (id INTEGER PRIMARY KEY CHECK (id = 1), sequence INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS ledger_seen (
    one INTEGER PRIMARY KEY CHECK (one = 1), accepted INTEGER NOT NULL, forgotten INTEGER NOT NULL
  );`;

/** How much of the ledger `entities.db` has seen. */
export function sqliteErasureWatermark(db: Database): ErasureWatermark {
  const write = db.prepare(`INSERT INTO erasure_watermark (id, sequence) VALUES (1, ?)
    ON CONFLICT DO UPDATE SET sequence = max(sequence, excluded.sequence)`);
  const note = noteSeen(db);

  return {
    read: async () => seenBy(db).erased,

    async write(sequence) {
      write.run(sequence);
    },

    async noteForgotten(sequence) {
      note(0, sequence);
    },
  };
}

/** Notes the number of a request that was accepted, and of one that may be forgotten. Neither goes down. */
export function noteSeen(db: Database): (accepted: number, forgotten: number) => void {
  const note = db.prepare(`INSERT INTO ledger_seen (one, accepted, forgotten) VALUES (1, ?, ?)
    ON CONFLICT DO UPDATE SET accepted = max(accepted, excluded.accepted), forgotten = max(forgotten, excluded.forgotten)`);
  return (accepted, forgotten) => {
    note.run(accepted, forgotten);
  };
}

/** Numbers of requests: up to which all are erased in the data, the newest accepted, the newest that may be forgotten. */
export function seenBy(db: Database): {
  readonly erased: number;
  readonly accepted: number;
  readonly forgotten: number;
} {
  const watermark = db.prepare("SELECT sequence FROM erasure_watermark").get() as { sequence: number } | undefined;
  const seen = db.prepare("SELECT accepted, forgotten FROM ledger_seen").get() as
    | { accepted: number; forgotten: number }
    | undefined;
  return { erased: watermark?.sequence ?? 0, accepted: seen?.accepted ?? 0, forgotten: seen?.forgotten ?? 0 };
}
