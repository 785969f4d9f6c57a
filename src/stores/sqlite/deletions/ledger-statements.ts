import { NOTIFICATION } from "../../../deletions/deletion.js";
import type { Database } from "../connection.js";
import { deletionRows } from "./deletion-row.js";

/** Requests removed by one step of `expire`; other requests run between steps. */
export const REQUESTS_PER_STEP = 100;

/** Condition of requests that a run follows: they are open, or their notification is pending. */
export const AWAITS_RUN = "(completed_at IS NULL OR next_target IS NOT NULL)";

/** Statements of the ledger. */
export function ledgerStatements(db: Database) {
  const gone = "sequence IN (SELECT value FROM json_each(?))";
  const isOld = "completed_at < :before AND (next_target IS NULL OR NOT :keepsNotifying)";
  const dueWhere = (isDue: string) =>
    db.prepare(`SELECT request_id FROM deletion WHERE next_target IS :target AND ${AWAITS_RUN} AND ${isDue}
      ORDER BY not_before, sequence LIMIT :limit`);
  return {
    insert: db.prepare(`INSERT INTO deletion
      (request_id, document, identities, key_id, done, times, attempts, not_before, notify) VALUES
      (:requestId, :document, :identities, :keyId, :done, :times, :attempts, :notBefore, :notify)`),
    sequence: db.prepare("SELECT sequence FROM deletion WHERE request_id = ?"),
    // A request may destroy its key again until it is completed.
    reuseKeyRow: db.prepare(`UPDATE deletion_key SET key = ? WHERE id = (SELECT min(id) FROM deletion_key
      WHERE key = zeroblob(32) AND NOT EXISTS (SELECT 1 FROM deletion WHERE key_id = deletion_key.id)) RETURNING id`),
    addKeyRow: db.prepare("INSERT INTO deletion_key (key) VALUES (?) RETURNING id"),
    overwriteKey: db.prepare(`UPDATE deletion_key SET key = zeroblob(32)
      WHERE id = (SELECT key_id FROM deletion WHERE request_id = ?)`),
    keepVerified: db.prepare(`UPDATE deletion SET done = :done, times = :times, next_target = NULL
      WHERE request_id = :requestId AND completed_at IS NULL`),
    addEntity: db.prepare("INSERT OR IGNORE INTO erased_entity (entity, sequence) VALUES (?, ?)"),
    addErasedIdentity: db.prepare(`INSERT INTO erased_identity (hash, cut_off, sequence) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET cut_off = max(cut_off, excluded.cut_off), sequence = excluded.sequence`),
    addOpenIdentity: db.prepare("INSERT OR IGNORE INTO open_identity (hash, sequence) VALUES (?, ?)"),
    removeOpenIdentities: db.prepare(`DELETE FROM open_identity WHERE (hash, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(document, '$.hashes') WHERE request_id = ?)`),
    find: db.prepare(`SELECT * FROM ${deletionRows} WHERE request_id = ?`),
    firstOpen: db.prepare(`SELECT request_id FROM deletion WHERE sequence = (SELECT min(sequence) FROM
      (SELECT (SELECT min(sequence) FROM open_identity WHERE hash = value) AS sequence FROM json_each(:identities)
        UNION ALL SELECT sequence FROM deletion WHERE request_id = :own))`),
    dueUntil: dueWhere("not_before <= :now"),
    dueAfter: dueWhere("not_before > :latest"),
    lease: db.prepare(`UPDATE deletion SET runner = :runner, not_before = :until
      WHERE request_id = :requestId AND ${AWAITS_RUN} AND (not_before <= :now OR not_before > :latest)`),
    renew: db.prepare("UPDATE deletion SET not_before = :until WHERE request_id = :requestId AND runner = :runner"),
    release: db.prepare(`UPDATE deletion SET done = :done, times = :times, attempts = :attempts, problem = :problem,
      next_target = :nextTarget, not_before = :notBefore, notify = :notify, runner = NULL
      WHERE request_id = :requestId AND runner = :runner`),
    releaseAll: db.prepare(
      `UPDATE deletion SET not_before = 0, runner = NULL WHERE ${AWAITS_RUN} AND runner IS NOT NULL`,
    ),
    wake: db.prepare(`UPDATE deletion SET not_before = 0
      WHERE request_id IN (SELECT value FROM json_each(?)) AND ${AWAITS_RUN} AND runner IS NULL`),
    wakeWaitingFor: db.prepare(`UPDATE deletion SET not_before = 0
      WHERE next_target = ? AND not_before > 0 AND runner IS NULL`),
    targetAfter: db.prepare("SELECT min(next_target) AS target FROM deletion WHERE next_target > ?"),
    clearTarget: db.prepare("UPDATE deletion SET next_target = NULL WHERE next_target = ?"),
    complete:
      db.prepare(`UPDATE deletion SET completed_at = :at, times = :times, problem = NULL, identities = x'', key_id = NULL,
      runner = NULL, attempts = 0, not_before = :at, next_target = iif(notify, '${NOTIFICATION}', NULL)
      WHERE request_id = :requestId AND completed_at IS NULL`),
    since: db.prepare(`SELECT * FROM ${deletionRows} WHERE sequence > ? ORDER BY sequence LIMIT ?`),
    expired: db.prepare(
      `SELECT sequence FROM deletion WHERE ${isOld} AND sequence <= :newest LIMIT ${REQUESTS_PER_STEP}`,
    ),
    // Looked up by the keys of the requests: there is no index on sequences.
    expireEntities: db.prepare(`DELETE FROM erased_entity WHERE (entity, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(document, '$.entities') WHERE ${gone})`),
    expireIdentities: db.prepare(`DELETE FROM erased_identity WHERE (hash, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(document, '$.hashes') WHERE ${gone}) AND hash NOT IN
      (SELECT value FROM deletion, json_each(document, '$.hashes') WHERE completed_at IS NULL)`),
    expire: db.prepare(`DELETE FROM deletion WHERE ${gone}`),
    // The plus sign makes SQLite use the index on the time. Without it, `max` scans the table from its end.
    newestOld: db.prepare(`SELECT max(+sequence) AS newest FROM deletion WHERE ${isOld}`),
  };
}
