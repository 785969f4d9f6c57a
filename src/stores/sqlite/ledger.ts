import { setImmediate } from "node:timers/promises";
import type { Deletion } from "../../deletions/deletion.js";
import type { AcceptedScope, Ledger } from "../../deletions/ports.js";
import { type Database, inTransaction, sharingCommits, withoutSync } from "./connection.js";
import { deletionList } from "./deletion-list.js";
import { type DeletionRow, deletionOf } from "./deletion-row.js";
import { addKeys } from "./entity-keys.js";
import { noteSeen } from "./ledger-match.js";

/** `forgotten_deletion` holds the number of the newest request that was ever removed after `deletions.keep`. */
export const ledgerSchema = `
  CREATE TABLE IF NOT EXISTS deletion (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, request_id TEXT NOT NULL UNIQUE, table_name TEXT NOT NULL, identity TEXT NOT NULL,
    accepted_at REAL NOT NULL, cut_off REAL NOT NULL, entities TEXT NOT NULL, hashes TEXT NOT NULL, sealer TEXT NOT NULL, sealed BLOB NOT NULL,
    targets TEXT NOT NULL, done TEXT NOT NULL, attempts INTEGER NOT NULL, not_before REAL NOT NULL, revision INTEGER NOT NULL,
    completed_at REAL, runner TEXT, runner_until REAL NOT NULL DEFAULT 0,
    noted_at REAL NOT NULL DEFAULT 0, runner_since REAL NOT NULL DEFAULT 0, times TEXT NOT NULL DEFAULT '{}', problem TEXT
  );
  CREATE INDEX IF NOT EXISTS deletion_open ON deletion (sequence) WHERE completed_at IS NULL;
  CREATE INDEX IF NOT EXISTS deletion_open_identity ON deletion (identity, sequence) WHERE completed_at IS NULL;
  CREATE INDEX IF NOT EXISTS deletion_completed ON deletion (completed_at) WHERE completed_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS forgotten_deletion (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS receipt_key (one INTEGER PRIMARY KEY CHECK (one = 1), wrapped TEXT NOT NULL);`;

/** Requests that one step of `expire` removes: other requests run in between. */
const AT_ONCE = 100;

/** Deletion requests in `ledger.db`. Leases of an earlier process end when it is opened: only this process can have the file open. */
export function sqliteLedger(db: Database, entities: Database): Ledger {
  const sql = statements(db);
  const isAsFound = scopeCheck(entities);
  const addKeysOf = addKeys(db);
  const noteInData = noteSeen(entities);
  sql.releaseAll.run();

  function deletionIn(row: unknown): Deletion | undefined {
    return row === undefined ? undefined : deletionOf(row as DeletionRow);
  }

  /** Writes what a request suppresses. Idempotent; a stored cut-off never goes down. */
  function suppress(sequence: number, deletion: Pick<Deletion, "entities" | "hashes" | "cutOff">): void {
    for (const entity of deletion.entities) sql.addEntity.run(entity, sequence);
    for (const hash of deletion.hashes) sql.addIdentity.run(hash, sequence, deletion.cutOff);
  }

  interface Request {
    readonly deletion: Deletion;
    readonly scope: AcceptedScope;
  }

  /** Keeps the request, within a transaction of the caller; undefined when its scope is another one by now. */
  function accept({ deletion, scope: { profiles, free, sealerKey } }: Request): number | undefined {
    if (!isAsFound(profiles, free) || sql.anyErased.get(JSON.stringify(profiles.map(({ id }) => id))) !== undefined)
      return undefined;
    addKeysOf(new Map([[deletion.sealer, sealerKey]]));
    const { lastInsertRowid } = sql.insert.run(
      deletion.requestId,
      deletion.table,
      deletion.identity,
      deletion.acceptedAt,
      deletion.cutOff,
      JSON.stringify(deletion.entities),
      JSON.stringify(deletion.hashes),
      deletion.sealer,
      deletion.sealedIdentities,
      JSON.stringify(deletion.targets),
      JSON.stringify(deletion.done),
      deletion.attempts,
      deletion.notBefore,
      deletion.revision,
    );
    const sequence = Number(lastInsertRowid);
    suppress(sequence, deletion);
    return sequence;
  }

  /** The numbers of the requests that were kept. */
  const acceptAll = sharingCommits((requests: readonly Request[]) => {
    const sequences = new Map<Request, number>();
    inTransaction(db, () => {
      for (const request of requests) {
        const sequence = accept(request);
        if (sequence !== undefined) sequences.set(request, sequence);
      }
    });
    if (sequences.size > 0) noteInData(Math.max(...sequences.values()), 0);
    return sequences;
  });

  /** The completions that were kept: none of a request that was extended, or completed before. */
  const completeAll = sharingCommits((all: readonly (readonly [number, string | null, string, number])[]) =>
    inTransaction(db, () => new Set(all.filter((one) => Number(sql.complete.run(...one).changes) > 0))),
  );

  /** Removes completed requests with what they suppress; how many. */
  function forgetSome(before: number, newest: number): number {
    const rows = sql.expired.all(before, newest) as { sequence: number }[];
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
      return (await acceptAll([request])).get(request);
    },

    find: async (requestId) => deletionIn(sql.find.get(requestId)),

    openFor: async (identity) => deletionIn(sql.openFor.get(identity)),

    openOver: async (identities) =>
      (sql.openOver.all(JSON.stringify(identities)) as unknown as DeletionRow[]).map(deletionOf),

    async extend(requestId, revision, extension, late) {
      late?.throwIfAborted();
      return inTransaction(db, () => {
        const row = sql.find.get(requestId) as DeletionRow | undefined;
        if (row === undefined || row.completed_at !== null || row.revision !== revision) return undefined;
        const kept = deletionOf(row);
        const later = extension.cutOff;
        if (later !== undefined && !isAsFound([], new Map([[kept.identity, later.holder]]))) return undefined;
        const cutOff = Math.max(kept.cutOff, later?.at ?? 0);
        const entities = [...new Set([...kept.entities, ...(extension.entities ?? [])])];
        const sealed = extension.sealed ?? kept;
        if (extension.sealed !== undefined) {
          addKeysOf(new Map([[extension.sealed.sealer, extension.sealed.sealerKey]]));
        }
        sql.extend.run(
          cutOff,
          JSON.stringify(entities),
          sealed.sealer,
          sealed.sealedIdentities,
          JSON.stringify(extension.done ?? []),
          JSON.stringify(extension.times ?? kept.times),
          row.sequence,
        );
        suppress(row.sequence, { entities, hashes: [kept.identity], cutOff });
        return deletionIn(sql.find.get(requestId));
      });
    },

    async open({ after = "", limit, due = null, waiting }) {
      const rows = waiting ? sql.waiting.all({ after, due, limit }) : sql.open.all({ after, due, limit });
      return (rows as unknown as DeletionRow[]).map(deletionOf);
    },

    async countOpen(options) {
      return (sql.countOpen.get(options?.attempts ?? 0) as { count: number }).count;
    },

    async lease(requestId, runner, now, until) {
      return withoutSync(db, () => Number(sql.lease.run({ requestId, runner, now, until }).changes) > 0);
    },

    async release(requestId, runner) {
      withoutSync(db, () => sql.release.run(requestId, runner));
    },

    async note(requestId, revision, { done, times, attempts, problem = null, notBefore, now }) {
      const timesText = times === undefined ? null : JSON.stringify(times);
      withoutSync(db, () =>
        sql.note.run(JSON.stringify(done), timesText, attempts, problem, notBefore, now, requestId, revision),
      );
    },

    async wake(requestIds) {
      inTransaction(db, () => {
        for (const id of requestIds) sql.wake.run(id);
      });
    },

    async complete(requestId, revision, at, times) {
      const completion = [at, times === undefined ? null : JSON.stringify(times), requestId, revision] as const;
      if ((await completeAll([completion])).has(completion)) return "completed";
      return deletionIn(sql.find.get(requestId))?.completedAt === undefined ? "extended" : "completed before";
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

    async expire(before, note) {
      const { newest } = sql.newestCompleted.get(before) as { newest: number | null };
      if (newest === null) return;
      await note(newest);
      sql.forget.run(newest);
      while (forgetSome(before, newest) === AT_ONCE) await setImmediate();
    },
  };
}

/**
 * Whether profiles have these revisions, and identities these holders. As this process alone has both files, and every step is synchronous, the
 * answer holds until the step ends.
 */
function scopeCheck(entities: Database) {
  const revisionOf = entities.prepare("SELECT revision FROM entity WHERE id = ?");
  const holderOf = entities.prepare("SELECT entity FROM identity WHERE hash = ?");
  return (profiles: AcceptedScope["profiles"], holders: AcceptedScope["free"]): boolean =>
    profiles.every(
      ({ id, revision }) => (revisionOf.get(id) as { revision: number } | undefined)?.revision === revision,
    ) &&
    [...holders].every(([hash, holder]) => (holderOf.get(hash) as { entity: string } | undefined)?.entity === holder);
}

/** Open requests after one of an id, those that are due at an instant unless it is null. */
const openAnd = (condition: string) => `SELECT * FROM deletion WHERE completed_at IS NULL AND ${condition}
  AND sequence > coalesce((SELECT sequence FROM deletion WHERE request_id = :after), 0)
  AND (:due IS NULL OR ((not_before <= :due OR noted_at > :due) AND (runner_until <= :due OR runner_since > :due)))
  ORDER BY sequence LIMIT :limit`;

function statements(db: Database) {
  const gone = "sequence IN (SELECT value FROM json_each(?))";
  return {
    insert:
      db.prepare(`INSERT INTO deletion (request_id, table_name, identity, accepted_at, cut_off, entities, hashes, sealer, sealed,
      targets, done, attempts, not_before, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    anyErased: db.prepare("SELECT 1 FROM erased_entity WHERE entity IN (SELECT value FROM json_each(?)) LIMIT 1"),
    addEntity: db.prepare("INSERT OR IGNORE INTO erased_entity (entity, sequence) VALUES (?, ?)"),
    addIdentity: db.prepare(`INSERT INTO erased_identity (hash, sequence, cut_off) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET cut_off = max(cut_off, excluded.cut_off)`),
    find: db.prepare("SELECT * FROM deletion WHERE request_id = ?"),
    openFor: db.prepare(
      "SELECT * FROM deletion WHERE identity = ? AND completed_at IS NULL ORDER BY sequence DESC LIMIT 1",
    ),
    openOver: db.prepare(`SELECT * FROM deletion WHERE completed_at IS NULL AND sequence IN
      (SELECT sequence FROM erased_identity WHERE hash IN (SELECT value FROM json_each(?))) ORDER BY sequence`),
    extend: db.prepare(`UPDATE deletion SET cut_off = ?, entities = ?, sealer = ?, sealed = ?,
      revision = revision + 1, done = ?, times = ?, problem = NULL, attempts = 0, not_before = 0 WHERE sequence = ?`),
    open: db.prepare(openAnd("true")),
    waiting: db.prepare(openAnd("not_before > 0")),
    countOpen: db.prepare("SELECT count(*) AS count FROM deletion WHERE completed_at IS NULL AND attempts >= ?"),
    lease: db.prepare(`UPDATE deletion SET runner = :runner, runner_since = :now, runner_until = :until
      WHERE request_id = :requestId AND completed_at IS NULL
      AND (runner = :runner OR runner_until <= :now OR runner_since > :now)`),
    release: db.prepare("UPDATE deletion SET runner = NULL, runner_until = 0 WHERE request_id = ? AND runner = ?"),
    releaseAll: db.prepare(
      "UPDATE deletion SET runner = NULL, runner_until = 0 WHERE completed_at IS NULL AND runner IS NOT NULL",
    ),
    note: db.prepare(`UPDATE deletion SET done = ?, times = coalesce(?, times), attempts = ?, problem = ?, not_before = ?, noted_at = ?
      WHERE request_id = ? AND revision = ? AND completed_at IS NULL`),
    wake: db.prepare("UPDATE deletion SET not_before = 0 WHERE request_id = ? AND completed_at IS NULL"),
    complete:
      db.prepare(`UPDATE deletion SET completed_at = ?, times = coalesce(?, times), problem = NULL, sealed = x'', runner = NULL, runner_until = 0
      WHERE request_id = ? AND revision = ? AND completed_at IS NULL`),
    addReceiptKey: db.prepare("INSERT OR IGNORE INTO receipt_key (one, wrapped) VALUES (1, ?)"),
    receiptKey: db.prepare("SELECT wrapped FROM receipt_key"),
    settled: db.prepare(`SELECT coalesce((SELECT min(sequence) - 1 FROM deletion WHERE completed_at IS NULL),
      (SELECT seq FROM sqlite_sequence WHERE name = 'deletion'), 0) AS sequence`),
    since: db.prepare("SELECT * FROM deletion WHERE sequence > ? ORDER BY sequence LIMIT ?"),
    expired: db.prepare(`SELECT sequence FROM deletion WHERE completed_at < ? AND sequence <= ? LIMIT ${AT_ONCE}`),
    // By their keys, which the requests have: there is no index of sequences.
    expireEntities: db.prepare(`DELETE FROM erased_entity WHERE (entity, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(entities) WHERE ${gone})`),
    expireIdentities: db.prepare(`DELETE FROM erased_identity WHERE (hash, sequence) IN
      (SELECT value, sequence FROM deletion, json_each(hashes) WHERE ${gone})`),
    expire: db.prepare(`DELETE FROM deletion WHERE ${gone}`),
    // The plus sign: for the greatest number itself SQLite looks through the table from its end, and not into the index of the time.
    newestCompleted: db.prepare("SELECT max(+sequence) AS newest FROM deletion WHERE completed_at < ?"),
    forget: db.prepare(`INSERT INTO forgotten_deletion (one, sequence) VALUES (1, ?)
      ON CONFLICT DO UPDATE SET sequence = max(sequence, excluded.sequence)`),
  };
}
