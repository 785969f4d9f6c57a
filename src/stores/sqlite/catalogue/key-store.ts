import type { ApiKey, KeyBounds, KeyStore, Scope } from "../../../keys/api-key.js";
import type { Database } from "../connection.js";

export const keySchema = `
  CREATE TABLE IF NOT EXISTS api_key (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, bounds TEXT NOT NULL, digest TEXT NOT NULL,
    created_at INTEGER NOT NULL, revoked_at INTEGER, last_used_on INTEGER
  ) WITHOUT ROWID;`;

interface KeyRow {
  readonly id: string;
  readonly name: string;
  /** Separated by commas. */
  readonly scopes: string;
  /** JSON. */
  readonly bounds: string;
  readonly digest: string;
  readonly created_at: number;
  readonly revoked_at: number | null;
  readonly last_used_on: number | null;
}

/**
 * API keys in `ledger.db`, so that restored data cannot revive a revoked key. Another process may add and revoke keys
 * concurrently.
 */
export function sqliteKeyStore(db: Database): KeyStore {
  const add = db.prepare("INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const find = db.prepare("SELECT * FROM api_key WHERE id = ?");
  const list = db.prepare("SELECT * FROM api_key ORDER BY created_at, id");
  const revoke = db.prepare("UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?");
  const noteUse = db.prepare(
    "UPDATE api_key SET last_used_on = :day WHERE id = :id AND (last_used_on IS NULL OR last_used_on < :day)",
  );
  const hasOrigin = db.prepare(`
    SELECT 1 FROM api_key, json_each(bounds, '$.origins') AS origin
    WHERE revoked_at IS NULL AND origin.value = ? AND (bounds ->> 'expiresAt' IS NULL OR bounds ->> 'expiresAt' > ?)
    LIMIT 1`);

  return {
    async add({ id, name, scopes, bounds, digest, createdAt, revokedAt, lastUsedOn }) {
      const bound = JSON.stringify(bounds);
      add.run(id, name, scopes.join(","), bound, digest, createdAt, revokedAt ?? null, lastUsedOn ?? null);
    },

    async find(id) {
      const row = find.get(id);
      return row === undefined ? undefined : apiKeyOf(row);
    },

    async list() {
      return list.all().map(apiKeyOf);
    },

    async revoke(id, at) {
      return Number(revoke.run(at, id).changes) > 0;
    },

    async noteUse(id, day) {
      noteUse.run({ id, day });
    },

    async hasOrigin(origin, now) {
      return hasOrigin.get(origin, now) !== undefined;
    },
  };
}

/** Returns the key of a row of `api_key`. */
export function apiKeyOf(found: unknown): ApiKey {
  const { id, name, scopes, bounds, digest, created_at, revoked_at, last_used_on } = found as KeyRow;
  return {
    id,
    name,
    scopes: scopes.split(",") as Scope[],
    bounds: JSON.parse(bounds) as KeyBounds,
    digest,
    createdAt: created_at,
    revokedAt: revoked_at ?? undefined,
    lastUsedOn: last_used_on ?? undefined,
  };
}
