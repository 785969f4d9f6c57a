import { type ApiKey, type KeyStore, MAX_EVENT_NAMES } from "../../../keys/api-key.js";
import type { Database } from "../connection.js";
import { recordOf } from "../document.js";

export const keySchema =
  "CREATE TABLE IF NOT EXISTS api_key (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID";

/**
 * API keys in `ledger.db`, as JSON, so that restored data cannot revive a revoked key. Another process may add and
 * revoke keys concurrently.
 */
export function sqliteKeyStore(db: Database): KeyStore {
  const add = db.prepare("INSERT INTO api_key VALUES (?, ?)");
  const find = db.prepare("SELECT document FROM api_key WHERE id = ?");
  const list = db.prepare("SELECT document FROM api_key ORDER BY document ->> 'createdAt', id");
  const revoke = db.prepare("UPDATE api_key SET document = json_insert(document, '$.revokedAt', ?) WHERE id = ?");
  const recordUse = db.prepare(`UPDATE api_key SET document = json_set(document, '$.lastUsedOn', :day)
    WHERE id = :id AND coalesce(document ->> 'lastUsedOn' < :day, true)`);
  // Further names follow the stored ones.
  const addEventNames = db.prepare(`
    UPDATE api_key SET document = json_set(document, '$.eventNames', json((
      SELECT json_group_array(value) FROM (
        SELECT value FROM (
          SELECT key, value FROM json_each(document, '$.eventNames')
          UNION ALL SELECT key + ${MAX_EVENT_NAMES}, value FROM json_each(:names))
        GROUP BY value ORDER BY min(key) LIMIT ${MAX_EVENT_NAMES}))))
    WHERE id = :id RETURNING document`);
  const hasOrigin = db.prepare(`
    SELECT 1 FROM api_key, json_each(document, '$.bounds.origins') AS origin
    WHERE document ->> 'revokedAt' IS NULL AND origin.value = ? AND coalesce(document ->> '$.bounds.expiresAt' > ?, true)
    LIMIT 1`);

  return {
    async add(key) {
      add.run(key.id, JSON.stringify(key));
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

    async recordUse(id, day) {
      recordUse.run({ id, day });
    },

    async addEventNames(id, names) {
      const row = addEventNames.get({ id, names: JSON.stringify(names) });
      return row === undefined ? [] : (apiKeyOf(row).eventNames ?? []);
    },

    async hasOrigin(origin, now) {
      return hasOrigin.get(origin, now) !== undefined;
    },
  };
}

/** Returns the key of a row of `api_key`. */
export function apiKeyOf(row: unknown): ApiKey {
  const { revokedAt, lastUsedOn, ...key } = recordOf<ApiKey>(row);
  return { ...key, revokedAt, lastUsedOn };
}
