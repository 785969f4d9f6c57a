import type { Binding, EntityId, StoredEntity } from "../../entities/entity.js";
import type { EntityChange, EntityState, EntityStore } from "../../entities/entity-store.js";
import { type Database, inTransaction } from "./database.js";

/** `joined_into` is set for a joined entity; a dead one has nothing but its id. `joined` is a JSON array of ids. */
export const entitySchema = `
  CREATE TABLE IF NOT EXISTS entity (
    id TEXT PRIMARY KEY, state TEXT NOT NULL CHECK (state IN ('live', 'joined', 'dead')), joined_into TEXT,
    "table" TEXT, revision INTEGER NOT NULL, born REAL, joined TEXT, sealed BLOB
  );
  CREATE TABLE IF NOT EXISTS identity (hash TEXT PRIMARY KEY, entity TEXT NOT NULL, since REAL NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS identity_entity ON identity (entity);`;

interface EntityRow {
  readonly id: EntityId;
  readonly state: "live" | "joined" | "dead";
  readonly joined_into: EntityId;
  readonly table: string;
  readonly revision: number;
  readonly born: number;
  readonly joined: string;
  readonly sealed: Uint8Array;
}

interface IdentityRow {
  readonly hash: string;
  readonly entity: EntityId;
  readonly since: number;
}

/** Profiles and the identities that lead to them, in `entities.db`. */
export function sqliteEntityStore(db: Database): EntityStore {
  const findOwners = db.prepare("SELECT hash, entity FROM identity WHERE hash IN (SELECT value FROM json_each(?))");
  const findWeights = db.prepare(`SELECT hash, entity, coalesce(length(sealed), 0) AS bytes
    FROM identity LEFT JOIN entity ON entity.id = identity.entity WHERE hash IN (SELECT value FROM json_each(?))`);
  const findRows = db.prepare("SELECT * FROM entity WHERE id IN (SELECT value FROM json_each(?))");
  const findBindings = db.prepare(
    "SELECT hash, entity, since FROM identity WHERE entity IN (SELECT value FROM json_each(?)) ORDER BY hash",
  );
  const headOf = db.prepare("SELECT state, joined_into, revision FROM entity WHERE id = ?");
  const put = db.prepare(`INSERT INTO entity (id, state, "table", revision, born, joined, sealed)
    VALUES (?, 'live', ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET revision = excluded.revision, born = excluded.born, joined = excluded.joined, sealed = excluded.sealed`);
  const join = db.prepare(`INSERT INTO entity (id, state, joined_into, revision) VALUES (?, 'joined', ?, 1)
    ON CONFLICT DO UPDATE SET state = 'joined', joined_into = excluded.joined_into, revision = revision + 1,
    "table" = NULL, born = NULL, joined = NULL, sealed = NULL`);
  const bind = db.prepare(`INSERT INTO identity (hash, entity, since) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
    SET entity = excluded.entity, since = excluded.since WHERE entity <> excluded.entity OR since <> excluded.since`);
  const rebind = db.prepare("UPDATE identity SET entity = ? WHERE entity = ?");
  const raise = db.prepare("UPDATE entity SET revision = revision + 1 WHERE id = ?");
  const bury = db.prepare(`INSERT INTO entity (id, state, revision) VALUES (?, 'dead', 0) ON CONFLICT DO UPDATE
    SET state = 'dead', joined_into = NULL, "table" = NULL, born = NULL, joined = NULL, sealed = NULL`);
  const unbind = db.prepare("DELETE FROM identity WHERE entity = ?");
  const kept = db.prepare(`SELECT 1 FROM entity WHERE id IN (SELECT value FROM json_each(?1)) AND state <> 'dead'
    UNION ALL SELECT 1 FROM identity WHERE entity IN (SELECT value FROM json_each(?1)) LIMIT 1`);

  const head = (id: EntityId) => headOf.get(id) as Pick<EntityRow, "state" | "joined_into" | "revision"> | undefined;

  const ownersOf = (hashes: readonly string[]) =>
    new Map((findOwners.all(JSON.stringify(hashes)) as unknown as IdentityRow[]).map((row) => [row.hash, row.entity]));

  /** Whether the id still is as it was when this revision of it was read; 0: it is not stored. */
  function isAt(id: EntityId, revision: number): boolean {
    const now = head(id);
    return now === undefined ? revision === 0 : now.state === "live" && now.revision === revision;
  }

  function keep({ entity, absorbs, releasedBy }: EntityChange): boolean {
    if (!isAt(entity.id, entity.revision) || !absorbs.every(({ id, revision }) => isAt(id, revision))) return false;
    const free = new Set([entity.id, ...absorbs.map(({ id }) => id), ...releasedBy]);
    const owners = ownersOf(entity.bindings.map(({ hash }) => hash));
    for (const owner of owners.values()) if (!free.has(owner)) return false;
    put.run(entity.id, entity.table, entity.revision + 1, entity.born, JSON.stringify(entity.joined), entity.sealed);
    for (const { id } of absorbs) {
      join.run(id, entity.id);
      rebind.run(entity.id, id);
    }
    for (const { hash, since } of entity.bindings) bind.run(hash, entity.id, since);
    return true;
  }

  return {
    owners: async (hashes) => ownersOf(hashes),

    async weigh(hashes) {
      const rows = findWeights.all(JSON.stringify(hashes)) as { hash: string; entity: EntityId; bytes: number }[];
      return new Map(rows.map(({ hash, entity, bytes }) => [hash, { entity, bytes }]));
    },

    async load(ids) {
      const wanted = JSON.stringify(ids);
      const rows = findRows.all(wanted) as unknown as EntityRow[];
      const bindings = new Map<EntityId, Binding[]>(rows.map(({ id }) => [id, []]));
      for (const { hash, entity, since } of findBindings.all(wanted) as unknown as IdentityRow[]) {
        bindings.get(entity)?.push({ hash, since });
      }
      return new Map(rows.map((row) => [row.id, stateOf(row, bindings.get(row.id) ?? [])]));
    },

    save: async (changes) => inTransaction(db, () => changes.map(keep)),

    async fence(ids) {
      inTransaction(db, () => {
        for (const id of ids) {
          const root = rootOf(id);
          if (head(root) === undefined) bury.run(root);
          else raise.run(root);
        }
      });
    },

    async erase(ids) {
      inTransaction(db, () => {
        for (const id of ids) {
          bury.run(id);
          unbind.run(id);
        }
      });
    },

    holds: async (ids) => kept.get(JSON.stringify(ids)) !== undefined,
  };

  /** The entity that an id ended in; itself when it was never joined. */
  function rootOf(id: EntityId): EntityId {
    const seen = new Set<EntityId>();
    for (let at = id; ; ) {
      const row = head(at);
      if (row?.state !== "joined" || seen.has(at)) return at;
      seen.add(at);
      at = row.joined_into;
    }
  }
}

function stateOf(row: EntityRow, bindings: readonly Binding[]): EntityState {
  if (row.state === "dead") return { state: "dead" };
  if (row.state === "joined") return { state: "joined", into: row.joined_into };
  const entity: StoredEntity = {
    id: row.id,
    table: row.table,
    revision: row.revision,
    born: row.born,
    bindings,
    joined: JSON.parse(row.joined) as EntityId[],
    sealed: new Uint8Array(row.sealed),
  };
  return { state: "live", entity };
}
