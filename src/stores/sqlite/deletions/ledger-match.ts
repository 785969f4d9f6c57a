import { ledgerMismatch, NEWEST } from "../../../deletions/match-ledger.js";
import type { DeletionWatermark } from "../../../deletions/ports.js";
import { randomId } from "../../../ids.js";
import { type Database, refuseDamaged } from "../connection.js";
import { checkAccepted } from "./accepted-file.js";

/** In `ledger.db` and in `entities.db`: a random mark of the ledger that the data was created with. */
export const ledgerMarkSchema =
  "CREATE TABLE IF NOT EXISTS ledger_mark (one INTEGER PRIMARY KEY CHECK (one = 1), mark TEXT NOT NULL)";

/**
 * Refuses damaged files, and data that does not belong to its ledger: see `ledgerMismatch`. Marks new data. Returns the
 * mark of the ledger.
 */
export function matchLedger(ledger: Database, entities: Database, dir: string): string {
  const mark = markOf(ledger) ?? makeMark(ledger);
  const known = markOf(entities);
  const forgotten = forgottenBy(ledger);
  const facts = {
    ledger: { mark, accepted: acceptedBy(ledger), forgotten, hasNewest: hasKeys(ledger, newestEntities(entities)) },
    data: { mark: known, ...seenBy(entities) },
  };
  const error = ledgerMismatch(facts, { ledger: `ledger.db in ${dir}`, data: "entities.db" });
  if (error !== undefined) {
    // A damaged file may lack rows that it had.
    for (const db of [ledger, entities]) refuseDamaged(db);
    throw error;
  }
  checkAccepted(dir, mark, acceptedBy(ledger));
  if (known !== undefined) return mark;
  noteSeen(entities)(0, forgotten);
  keepMark(entities, mark);
  return mark;
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

/** Returns the number of the newest deletion ever accepted. */
function acceptedBy(ledger: Database): number {
  const row = ledger.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'deletion'").get();
  return (row as { seq: number } | undefined)?.seq ?? 0;
}

/** Returns the number of the newest deletion ever forgotten. */
function forgottenBy(ledger: Database): number {
  const row = ledger.prepare("SELECT sequence FROM forgotten_deletion").get() as { sequence: number } | undefined;
  return row?.sequence ?? 0;
}

/**
 * Returns the ids of the newest profiles, and of the profiles of the newest messages, which may have been merged since.
 */
function newestEntities(entities: Database): string[] {
  const rows = entities
    .prepare(`SELECT * FROM (SELECT id FROM entity ORDER BY rowid DESC LIMIT ?1)
      UNION SELECT entity FROM (SELECT entity FROM message ORDER BY arrival DESC LIMIT ?1)`)
    .all(NEWEST);
  return (rows as { id: string }[]).map(({ id }) => id);
}

/** Returns whether the ledger has a key, overwritten or not, for each of these ids. */
function hasKeys(ledger: Database, ids: readonly string[]): boolean {
  const found = ledger
    .prepare("SELECT count(*) AS count FROM entity_key WHERE entity IN (SELECT value FROM json_each(?))")
    .get(JSON.stringify(ids)) as { count: number };
  return found.count === ids.length;
}

/** One row each, stored with the data they describe. */
export const deletionWatermarkSchema = `
  CREATE TABLE IF NOT EXISTS deletion_watermark (id INTEGER PRIMARY KEY CHECK (id = 1), sequence INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS ledger_seen (
    one INTEGER PRIMARY KEY CHECK (one = 1), accepted INTEGER NOT NULL, forgotten INTEGER NOT NULL
  );`;

/** Position in the ledger up to which `entities.db` has been updated. */
export function sqliteDeletionWatermark(db: Database): DeletionWatermark {
  const write = db.prepare(`INSERT INTO deletion_watermark (id, sequence) VALUES (1, ?)
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

/** Stores the numbers of an accepted request and of a request that may be forgotten. Neither decreases. */
export function noteSeen(db: Database): (accepted: number, forgotten: number) => void {
  const note = db.prepare(`INSERT INTO ledger_seen (one, accepted, forgotten) VALUES (1, ?, ?)
    ON CONFLICT DO UPDATE SET accepted = max(accepted, excluded.accepted), forgotten = max(forgotten, excluded.forgotten)`);
  return (accepted, forgotten) => {
    note.run(accepted, forgotten);
  };
}

/**
 * Returns request numbers: all requests up to `erased` are erased in the data, the newest accepted one, the newest that
 * may be forgotten.
 */
export function seenBy(db: Database): {
  readonly erased: number;
  readonly accepted: number;
  readonly forgotten: number;
} {
  const watermark = db.prepare("SELECT sequence FROM deletion_watermark").get() as { sequence: number } | undefined;
  const seen = db.prepare("SELECT accepted, forgotten FROM ledger_seen").get() as
    | { accepted: number; forgotten: number }
    | undefined;
  return { erased: watermark?.sequence ?? 0, accepted: seen?.accepted ?? 0, forgotten: seen?.forgotten ?? 0 };
}
