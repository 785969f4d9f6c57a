import { setImmediate } from "node:timers/promises";
import { type Deletion, LONGEST_WAIT_MS, NOTIFICATION } from "../../deletions/deletion.js";
import type { Ledger, ScopeSnapshot } from "../../deletions/ports.js";
import { type Database, inTransaction, sharingCommits, withoutSync } from "./connection.js";
import { deletionList } from "./deletion-list.js";
import { type DeletionRow, deletionOf, deletionRows } from "./deletion-row.js";
import { emptyJournal } from "./entity-keys.js";
import { noteSeen } from "./ledger-match.js";
import { membershipRemoval } from "./membership-index.js";

/**
 * `not_before` is the time of the next retry, or the end of the lease of `runner`. `next_target` is empty if the next
 * run calls no remote target, and null if there is no next run: the request is completed, and no notification is
 * pending. `open_identity` has the identities of open requests. `deletion_key` has rows of one size that are appended
 * and overwritten in place, for the same reason as `entity_key`; no row is removed. `forgotten_deletion` has the number
 * of the newest request that was ever removed after `deletions.keep`.
 */
export const ledgerSchema = `
  CREATE TABLE IF NOT EXISTS deletion (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, request_id TEXT NOT NULL UNIQUE, table_name TEXT NOT NULL, identity TEXT NOT NULL,
    accepted_at REAL NOT NULL, cut_off REAL NOT NULL, entities TEXT NOT NULL, hashes TEXT NOT NULL, identities BLOB NOT NULL,
    targets TEXT NOT NULL, done TEXT NOT NULL, times TEXT NOT NULL, attempts INTEGER NOT NULL, problem TEXT,
    next_target TEXT DEFAULT '', not_before REAL NOT NULL, runner TEXT, completed_at REAL, notify INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS deletion_open ON deletion (sequence, attempts) WHERE completed_at IS NULL;
  CREATE INDEX IF NOT EXISTS deletion_due ON deletion (next_target, not_before, sequence) WHERE next_target IS NOT NULL;
  CREATE INDEX IF NOT EXISTS deletion_completed ON deletion (completed_at, next_target) WHERE completed_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS open_identity (
    hash TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (hash, sequence)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS deletion_key (sequence INTEGER PRIMARY KEY, key BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS forgotten_deletion (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS receipt_key (one INTEGER PRIMARY KEY CHECK (one = 1), wrapped TEXT NOT NULL);`;

/** Requests removed by one step of `expire`; other requests run between steps. */
const AT_ONCE = 100;

/**
 * Deletion requests in `ledger.db`. Opening it ends the leases of an earlier process: only this process can have the
 * file open.
 */
export function sqliteLedger(db: Database, entities: Database): Ledger {
  const sql = statements(db);
  const isAsFound = scopeCheck(entities);
  const noteInData = noteSeen(entities);
  const removeMemberships = membershipRemoval(entities);
  sql.releaseAll.run();

  function find(requestId: string): Deletion | undefined {
    const row = sql.find.get(requestId);
    return row === undefined ? undefined : deletionOf(row as unknown as DeletionRow);
  }

  interface Request {
    readonly deletion: Deletion;
    readonly scope: ScopeSnapshot;
  }

  /** Stores the request unless it is stored, inside the caller's transaction; undefined if its scope has changed. */
  function accept({ deletion, scope: { profiles, unheld } }: Request): number | undefined {
    const stored = sql.sequence.get(deletion.requestId) as { sequence: number } | undefined;
    if (stored !== undefined) return stored.sequence;
    if (!isAsFound(profiles, unheld) || sql.anyErased.get(JSON.stringify(profiles.map(({ id }) => id))) !== undefined)
      return undefined;
    const { encryptedIdentities, cutOff } = deletion;
    const { lastInsertRowid } = sql.insert.run({
      requestId: deletion.requestId,
      table: deletion.table,
      identity: deletion.identity,
      acceptedAt: deletion.acceptedAt,
      cutOff,
      entities: JSON.stringify(deletion.entities),
      hashes: JSON.stringify(deletion.hashes),
      identities: encryptedIdentities?.bytes ?? new Uint8Array(),
      targets: JSON.stringify(deletion.targets),
      done: JSON.stringify(deletion.done),
      times: JSON.stringify(deletion.times),
      attempts: deletion.attempts,
      notBefore: deletion.notBefore,
      notify: Number(deletion.notify),
    });
    const sequence = Number(lastInsertRowid);
    if (encryptedIdentities !== undefined) sql.addKey.run(sequence, encryptedIdentities.key);
    for (const entity of deletion.entities) sql.addEntity.run(entity, sequence);
    for (const hash of deletion.hashes) {
      sql.addErasedIdentity.run(hash, cutOff, sequence);
      sql.addOpenIdentity.run(hash, sequence);
    }
    return sequence;
  }

  /** Returns the numbers of the stored requests. */
  const acceptAll = sharingCommits((requests: readonly Request[]) => {
    const sequences = new Map<Request, number>();
    inTransaction(db, () => {
      for (const request of requests) {
        const sequence = accept(request);
        if (sequence !== undefined) sequences.set(request, sequence);
      }
    });
    if (sequences.size > 0) {
      // After a crash before this, the replay at the next start removes the memberships.
      inTransaction(entities, () => {
        noteInData(Math.max(...sequences.values()), 0);
        for (const { deletion } of sequences.keys()) removeMemberships(deletion.entities);
      });
    }
    return sequences;
  });

  type Completion = readonly [requestId: string, at: number, times: string];

  /** Completes the request, inside the caller's transaction; returns whether it was open. */
  function complete([requestId, at, times]: Completion): boolean {
    if (sql.complete.run({ requestId, at, times }).changes === 0) return false;
    sql.removeOpenIdentities.run(requestId);
    return true;
  }

  /** Returns the completions of requests that were open. */
  const completeAll = sharingCommits((all: readonly Completion[]) =>
    inTransaction(db, () => new Set(all.filter(complete))),
  );

  /** Removes completed requests with their suppression; returns their number. */
  function forgetSome(old: OldRequests, newest: number): number {
    const rows = sql.expired.all({ ...old, newest }) as { sequence: number }[];
    const gone = JSON.stringify(rows.map(({ sequence }) => sequence));
    inTransaction(db, () => {
      sql.expireEntities.run(gone);
      sql.expireIdentities.run(gone);
      sql.expire.run(gone);
    });
    return rows.length;
  }

  return {
    async accept(deletion, scope, late) {
      late?.throwIfAborted();
      const request = { deletion, scope };
      return (await acceptAll([request])).has(request);
    },

    find: async (requestId) => find(requestId),

    async openOver(identities, limit) {
      const rows = identities.flatMap((hash) => sql.openOver.all(hash, limit));
      const found = new Map((rows as { sequence: number; request_id: string }[]).map((row) => [row.sequence, row]));
      const inOrder = [...found.values()].sort((a, b) => a.sequence - b.sequence);
      return inOrder.slice(0, limit).map(({ request_id }) => request_id);
    },

    async due(now, nextTarget, limit) {
      const asked = { target: nextTarget ?? "", limit };
      const rows = [...sql.dueUntil.all({ ...asked, now }), ...sql.dueAfter.all({ ...asked, latest: latestAt(now) })];
      return (rows as { request_id: string }[]).slice(0, limit).map(({ request_id }) => request_id);
    },

    async lease(requestId, runner, now, until) {
      const { changes } = withoutSync(db, () =>
        sql.lease.run({ requestId, runner, now, latest: latestAt(now), until }),
      );
      return changes > 0 ? find(requestId) : undefined;
    },

    async renew(requestId, runner, until) {
      withoutSync(db, () => sql.renew.run({ requestId, runner, until }));
    },

    async release(requestId, runner, { done, times, attempts, problem = null, nextTarget = "", notBefore }) {
      const progress = { done: JSON.stringify(done), times: JSON.stringify(times), attempts, problem, nextTarget };
      withoutSync(db, () => sql.release.run({ requestId, runner, ...progress, notBefore }));
    },

    async wake(requestIds) {
      sql.wake.run(JSON.stringify(requestIds));
    },

    async wakeWaitingFor(target) {
      sql.wakeWaitingFor.run(target);
    },

    async clearOtherTargets(configured) {
      const targetAfter = (name: string) => (sql.targetAfter.get(name) as { target: string | null }).target;
      // Seeks each name in the index instead of reading all open requests.
      for (let target = targetAfter(""); target !== null; target = targetAfter(target))
        if (!configured.includes(target)) sql.clearTarget.run(target);
    },

    async destroyKey(requestId, { done, times }) {
      const hadKey = inTransaction(db, () => {
        if (sql.overwriteKey.run(requestId).changes === 0) return false;
        sql.keepVerified.run({ requestId, done: JSON.stringify(done), times: JSON.stringify(times) });
        return true;
      });
      if (hadKey) emptyJournal(db);
    },

    async complete(requestId, at, times) {
      const completion = [requestId, at, JSON.stringify(times)] as const;
      return (await completeAll([completion])).has(completion);
    },

    async notified(requestId) {
      withoutSync(db, () => sql.notified.run(requestId));
    },

    ...deletionList(db),

    async receiptKey(fresh) {
      sql.addReceiptKey.run(fresh);
      return (sql.receiptKey.get() as { wrapped: string }).wrapped;
    },

    async settledSequence() {
      return (sql.settled.get() as { sequence: number }).sequence;
    },

    async since(sequence, limit) {
      const rows = sql.since.all(sequence, limit) as unknown as DeletionRow[];
      return rows.map((row) => ({ sequence: row.sequence, deletion: deletionOf(row) }));
    },

    async expire(before, keepsNotifying, note) {
      const old = { before, keepsNotifying: Number(keepsNotifying) };
      const { newest } = sql.newestOld.get(old) as { newest: number | null };
      if (newest === null) return;
      await note(newest);
      sql.forget.run(newest);
      while (forgetSome(old, newest) === AT_ONCE) await setImmediate();
    },
  };
}

/** Parameters of `statements().newestOld`. */
interface OldRequests extends Record<string, number> {
  readonly before: number;
  readonly keepsNotifying: number;
}

/**
 * Returns whether profiles have these revisions, and identities these holders. The result is valid until the step ends:
 * this process owns both files and every step is synchronous.
 */
function scopeCheck(entities: Database) {
  const revisionOf = entities.prepare("SELECT revision FROM entity WHERE id = ?");
  const holderOf = entities.prepare("SELECT entity FROM identity WHERE hash = ?");
  return (profiles: ScopeSnapshot["profiles"], holders: ScopeSnapshot["unheld"]): boolean =>
    profiles.every(
      ({ id, revision }) => (revisionOf.get(id) as { revision: number } | undefined)?.revision === revision,
    ) &&
    [...holders].every(([hash, holder]) => (holderOf.get(hash) as { entity: string } | undefined)?.entity === holder);
}

/** Returns the latest `not_before` that was not set before the clock was set back. */
function latestAt(now: number): number {
  return now + LONGEST_WAIT_MS;
}

function statements(db: Database) {
  const gone = "sequence IN (SELECT value FROM json_each(?))";
  const isOld = "completed_at < :before AND (next_target IS NULL OR NOT :keepsNotifying)";
  const dueWhere = (isDue: string) =>
    db.prepare(`SELECT request_id FROM deletion WHERE next_target = :target AND ${isDue}
      ORDER BY not_before, sequence LIMIT :limit`);
  return {
    insert:
      db.prepare(`INSERT INTO deletion (request_id, table_name, identity, accepted_at, cut_off, entities, hashes, identities,
      targets, done, times, attempts, not_before, notify) VALUES (:requestId, :table, :identity, :acceptedAt, :cutOff, :entities, :hashes, :identities,
      :targets, :done, :times, :attempts, :notBefore, :notify)`),
    sequence: db.prepare("SELECT sequence FROM deletion WHERE request_id = ?"),
    addKey: db.prepare("INSERT INTO deletion_key (sequence, key) VALUES (?, ?)"),
    overwriteKey: db.prepare(`UPDATE deletion_key SET key = zeroblob(32)
      WHERE sequence = (SELECT sequence FROM deletion WHERE request_id = ?)`),
    keepVerified: db.prepare(`UPDATE deletion SET done = :done, times = :times, next_target = ''
      WHERE request_id = :requestId AND completed_at IS NULL`),
    anyErased: db.prepare("SELECT 1 FROM erased_entity WHERE entity IN (SELECT value FROM json_each(?)) LIMIT 1"),
    addEntity: db.prepare("INSERT OR IGNORE INTO erased_entity (entity, sequence) VALUES (?, ?)"),
    addErasedIdentity: db.prepare(`INSERT INTO erased_identity (hash, cut_off, sequence) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET cut_off = max(cut_off, excluded.cut_off), sequence = excluded.sequence`),
    addOpenIdentity: db.prepare("INSERT OR IGNORE INTO open_identity (hash, sequence) VALUES (?, ?)"),
    removeOpenIdentities: db.prepare(`DELETE FROM open_identity WHERE (hash, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(hashes) WHERE request_id = ?)`),
    find: db.prepare(`SELECT * FROM ${deletionRows} WHERE request_id = ?`),
    openOver: db.prepare(`SELECT sequence, request_id FROM open_identity JOIN deletion USING (sequence)
      WHERE hash = ? ORDER BY sequence LIMIT ?`),
    dueUntil: dueWhere("not_before <= :now"),
    dueAfter: dueWhere("not_before > :latest"),
    lease: db.prepare(`UPDATE deletion SET runner = :runner, not_before = :until
      WHERE request_id = :requestId AND next_target IS NOT NULL AND (not_before <= :now OR not_before > :latest)`),
    renew: db.prepare("UPDATE deletion SET not_before = :until WHERE request_id = :requestId AND runner = :runner"),
    release: db.prepare(`UPDATE deletion SET done = :done, times = :times, attempts = :attempts, problem = :problem,
      next_target = :nextTarget, not_before = :notBefore, runner = NULL
      WHERE request_id = :requestId AND runner = :runner`),
    releaseAll: db.prepare(
      "UPDATE deletion SET not_before = 0, runner = NULL WHERE next_target IS NOT NULL AND runner IS NOT NULL",
    ),
    wake: db.prepare(`UPDATE deletion SET not_before = 0
      WHERE request_id IN (SELECT value FROM json_each(?)) AND next_target IS NOT NULL AND runner IS NULL`),
    wakeWaitingFor: db.prepare(`UPDATE deletion SET not_before = 0
      WHERE next_target = ? AND not_before > 0 AND runner IS NULL`),
    targetAfter: db.prepare("SELECT min(next_target) AS target FROM deletion WHERE next_target > ?"),
    clearTarget: db.prepare("UPDATE deletion SET next_target = '' WHERE next_target = ?"),
    complete: db.prepare(`UPDATE deletion SET completed_at = :at, times = :times, problem = NULL, identities = x'',
      runner = NULL, attempts = 0, not_before = :at, next_target = iif(notify, '${NOTIFICATION}', NULL)
      WHERE request_id = :requestId AND completed_at IS NULL`),
    notified:
      db.prepare(`UPDATE deletion SET notify = 0, next_target = NULL, runner = NULL, attempts = 0, problem = NULL
      WHERE request_id = ? AND completed_at IS NOT NULL`),
    addReceiptKey: db.prepare("INSERT OR IGNORE INTO receipt_key (one, wrapped) VALUES (1, ?)"),
    receiptKey: db.prepare("SELECT wrapped FROM receipt_key"),
    settled: db.prepare(`SELECT coalesce((SELECT min(sequence) - 1 FROM deletion WHERE completed_at IS NULL),
      (SELECT seq FROM sqlite_sequence WHERE name = 'deletion'), 0) AS sequence`),
    since: db.prepare(`SELECT * FROM ${deletionRows} WHERE sequence > ? ORDER BY sequence LIMIT ?`),
    expired: db.prepare(`SELECT sequence FROM deletion WHERE ${isOld} AND sequence <= :newest LIMIT ${AT_ONCE}`),
    // Looked up by the keys of the requests: there is no index on sequences.
    expireEntities: db.prepare(`DELETE FROM erased_entity WHERE (entity, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(entities) WHERE ${gone})`),
    expireIdentities: db.prepare(`DELETE FROM erased_identity WHERE (hash, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(hashes) WHERE ${gone})`),
    expire: db.prepare(`DELETE FROM deletion WHERE ${gone}`),
    // The plus sign makes SQLite use the index on the time. Without it, `max` scans the table from its end.
    newestOld: db.prepare(`SELECT max(+sequence) AS newest FROM deletion WHERE ${isOld}`),
    forget: db.prepare(`INSERT INTO forgotten_deletion (one, sequence) VALUES (1, ?)
      ON CONFLICT DO UPDATE SET sequence = max(sequence, excluded.sequence)`),
  };
}
