import { setImmediate } from "node:timers/promises";
import { type Deletion, MAX_WAIT_MS } from "../../../deletions/deletion.js";
import type { Ledger, ScopeSnapshot } from "../../../deletions/ports.js";
import { SEGMENT } from "../../../entities/outbox.js";
import { ACCEPTED, FORGOTTEN, RECEIPT_KEY } from "../../database-facts.js";
import { type Database, inTransaction, sharingCommits, withoutSync } from "../connection.js";
import { factsOf, raiseTo } from "../database-facts.js";
import { emptyJournal } from "../profiles/entity-keys.js";
import { storedState } from "../profiles/entity-store.js";
import { membershipRemoval } from "../profiles/membership-index.js";
import { outboxWrites } from "../profiles/outbox.js";
import { deletionList } from "./deletion-list.js";
import { type DeletionRow, deletionOf } from "./deletion-row.js";
import { settledSequence } from "./ledger-match.js";
import { AWAITS_RUN, ledgerStatements, REQUESTS_PER_STEP } from "./ledger-statements.js";
import { suppressionIn } from "./suppression.js";

/**
 * `document` is the request as it was accepted, JSON. `not_before` is the time of the next retry, or the end of the
 * lease of `runner`. `next_target` is the remote target, or the notification, that the next run calls; null without
 * one. `open_identity` is the index of `firstOpen`. Rows of `deletion_key` have the same size; they
 * are appended and overwritten in place, for the same reason as in `entity_key`, first with zeros and then with the key
 * of a later request: `key_id` is the row of an open one.
 */
export const ledgerSchema = `
  CREATE TABLE IF NOT EXISTS deletion (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, request_id TEXT NOT NULL UNIQUE, document TEXT NOT NULL,
    identities BLOB NOT NULL, done TEXT NOT NULL, times TEXT NOT NULL, attempts INTEGER NOT NULL, problem TEXT,
    next_target TEXT, not_before REAL NOT NULL, runner TEXT, completed_at REAL, notify INTEGER NOT NULL,
    key_id INTEGER
  );
  CREATE INDEX IF NOT EXISTS deletion_open ON deletion (sequence, attempts) WHERE completed_at IS NULL;
  CREATE INDEX IF NOT EXISTS deletion_due ON deletion (next_target, not_before, sequence) WHERE ${AWAITS_RUN};
  CREATE INDEX IF NOT EXISTS deletion_completed ON deletion (completed_at, next_target) WHERE completed_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS open_identity (
    hash TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (hash, sequence)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS deletion_key (id INTEGER PRIMARY KEY, key BLOB NOT NULL);
  CREATE INDEX IF NOT EXISTS deletion_key_free ON deletion_key (id) WHERE key = zeroblob(32);
  CREATE INDEX IF NOT EXISTS deletion_key_of ON deletion (key_id) WHERE key_id IS NOT NULL;`;

/**
 * Deletion requests in `ledger.db`. Opening it ends the leases of an earlier process: only this process can have the
 * file open. `record` is called with the newest number after acceptances.
 */
export function sqliteLedger(db: Database, entities: Database, record: (newest: number) => void = () => {}): Ledger {
  const sql = ledgerStatements(db);
  const { isUnchanged } = storedState(entities);
  const { erased } = suppressionIn(db);
  const facts = factsOf(db);
  const raiseInData = raiseTo(entities);
  const removeMemberships = membershipRemoval(entities);
  const outbox = outboxWrites(entities, []);
  sql.releaseAll.run();

  function find(requestId: string): Deletion | undefined {
    const row = sql.find.get(requestId);
    return row === undefined ? undefined : deletionOf(row as unknown as DeletionRow);
  }

  /** Stores the key of a request's identities inside the caller's transaction and returns its row. */
  function storeKey(key: Uint8Array): number {
    return ((sql.reuseKeyRow.get(key) ?? sql.addKeyRow.get(key)) as { id: number }).id;
  }

  interface Request {
    readonly deletion: Deletion;
    readonly scope: ScopeSnapshot;
  }

  /**
   * Stores the request inside the caller's transaction and returns its number; "stored" if it was stored before,
   * undefined if its scope has changed.
   */
  function accept({ deletion, scope: { profiles, owners, encrypt } }: Request): number | "stored" | undefined {
    if (sql.sequence.get(deletion.requestId) !== undefined) return "stored";
    // This process owns both files and every step is synchronous: nothing changes before the step ends.
    if (!isUnchanged(profiles, owners) || erased(profiles.map(({ id }) => id)).size > 0) return undefined;
    const { acceptedAt } = deletion;
    const encryptedIdentities = encrypt?.(outbox.of([SEGMENT, ...deletion.entities])) ?? deletion.encryptedIdentities;
    const { lastInsertRowid } = sql.insert.run({
      requestId: deletion.requestId,
      document: JSON.stringify({ ...deletion, encryptedIdentities: undefined }),
      identities: encryptedIdentities?.bytes ?? new Uint8Array(),
      keyId: encryptedIdentities === undefined ? null : storeKey(encryptedIdentities.key),
      done: JSON.stringify(deletion.done),
      times: JSON.stringify(deletion.times),
      attempts: deletion.attempts,
      notBefore: deletion.notBefore,
      notify: Number(deletion.notify),
    });
    const sequence = Number(lastInsertRowid);
    for (const entity of deletion.entities) sql.addEntity.run(entity, sequence);
    const hasToErase = deletion.entities.length > 0 || encryptedIdentities !== undefined;
    for (const hash of deletion.hashes) {
      sql.addErasedIdentity.run(hash, acceptedAt, sequence);
      if (hasToErase) sql.addOpenIdentity.run(hash, sequence);
    }
    return sequence;
  }

  /** Returns the requests that are accepted, or were before. */
  const acceptAll = sharingCommits((requests: readonly Request[]) => {
    const accepted = new Set<Request>();
    const sequences = new Map<Request, number>();
    inTransaction(db, () => {
      for (const request of requests) {
        const sequence = accept(request);
        if (sequence !== undefined) accepted.add(request);
        if (typeof sequence === "number") sequences.set(request, sequence);
      }
    });
    if (sequences.size === 0) return accepted;
    const newest = Math.max(...sequences.values());
    // After a crash before this, the replay at the next start removes the memberships and the changes for hooks.
    inTransaction(entities, () => {
      raiseInData(ACCEPTED, newest);
      for (const { deletion } of sequences.keys()) {
        removeMemberships(deletion.entities, deletion.acceptedAt);
        outbox.erase(deletion.entities);
      }
    });
    record(newest);
    return accepted;
  });

  interface Completion {
    readonly requestId: string;
    readonly at: number;
    readonly times: string;
  }

  /** Completes requests. Returns the completions of requests that were open. */
  const completeAll = sharingCommits((all: readonly Completion[]) =>
    inTransaction(
      db,
      () =>
        new Set(
          all.filter(({ requestId, at, times }) => {
            sql.removeOpenIdentities.run(requestId);
            return sql.complete.run({ requestId, at, times }).changes > 0;
          }),
        ),
    ),
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

    async firstOpen(identities, own = "") {
      const first = sql.firstOpen.get({ identities: JSON.stringify(identities), own }) as
        | { request_id: string }
        | undefined;
      return first?.request_id;
    },

    async due(now, nextTarget, limit) {
      const requested = { target: nextTarget ?? null, limit };
      const rows = [
        ...sql.dueUntil.all({ ...requested, now }),
        ...sql.dueAfter.all({ ...requested, latest: latestAt(now) }),
      ];
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

    async release(requestId, runner, { done, times, notify, attempts, problem = null, nextTarget = null, notBefore }) {
      const stages = { done: JSON.stringify(done), times: JSON.stringify(times), notify: Number(notify) };
      withoutSync(db, () =>
        sql.release.run({ requestId, runner, ...stages, attempts, problem, nextTarget, notBefore }),
      );
    },

    async wake(requestIds) {
      sql.wake.run(JSON.stringify(requestIds));
    },

    async wakeWaitingFor(target) {
      return Number(sql.wakeWaitingFor.run(target).changes);
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
      const completion = { requestId, at, times: JSON.stringify(times) };
      return (await completeAll([completion])).has(completion);
    },

    ...deletionList(db),

    receiptKey: (fresh) => facts.textOnce(RECEIPT_KEY, fresh),

    settledSequence: async () => settledSequence(db),

    async since(sequence, limit) {
      const rows = sql.since.all(sequence, limit) as unknown as DeletionRow[];
      return rows.map((row) => ({ sequence: row.sequence, deletion: deletionOf(row) }));
    },

    async expire(before, keepsNotifying) {
      const old = { before, keepsNotifying: Number(keepsNotifying) };
      const { newest } = sql.newestOld.get(old) as { newest: number | null };
      if (newest === null) return;
      await facts.raise(FORGOTTEN, newest);
      while (forgetSome(old, newest) === REQUESTS_PER_STEP) await setImmediate();
    },

    forgottenSequence: () => facts.number(FORGOTTEN),
  };
}

/** Parameters of the statement `newestOld`. */
interface OldRequests extends Record<string, number> {
  readonly before: number;
  readonly keepsNotifying: number;
}

/** Returns the latest possible `not_before`. A later one was set before the clock was set back. */
function latestAt(now: number): number {
  return now + MAX_WAIT_MS;
}
