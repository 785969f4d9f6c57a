import {
  type Commit,
  type EntityStore,
  type LoadedEntities,
  PAGE_BYTES,
  type ProfileChange,
} from "../../../entities/ports.js";
import { namesSegments, noSegmentDeletions } from "../../../entities/profile/deleted-segments.js";
import {
  type Binding,
  type EntityId,
  idsOf,
  type Memberships,
  type StoredEntity,
  UPDATE_BYTES,
} from "../../../entities/profile/entity.js";
import { commitMoves } from "../../../metrics/move-counts.js";
import { streamCounts } from "../../../metrics/stream-counts.js";
import { type Database, inTransaction, sharingCommits, unlessDamaged } from "../connection.js";
import { suppressionIn } from "../deletions/suppression.js";
import { addSlotCount } from "../series/slot-counts.js";
import { segmentDeletions } from "./deleted-segments.js";
import { addKeys } from "./entity-keys.js";
import { membershipRows } from "./membership-index.js";

/**
 * `merged` is a JSON array of the ids that were merged into the profile. Rows that refer to a profile are removed with
 * it: identities here, memberships.
 */
export const entitySchema = `
  CREATE TABLE IF NOT EXISTS entity (
    id TEXT PRIMARY KEY, "table" TEXT NOT NULL, revision INTEGER NOT NULL, born REAL NOT NULL, merged TEXT NOT NULL, sealed BLOB NOT NULL
  );
  CREATE TABLE IF NOT EXISTS identity (
    hash TEXT PRIMARY KEY, entity TEXT NOT NULL REFERENCES entity ON DELETE CASCADE, since REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS identity_entity ON identity (entity);`;

interface EntityRow {
  readonly id: EntityId;
  readonly table: string;
  readonly revision: number;
  readonly born: number;
  readonly merged: string;
  readonly sealed: Uint8Array;
}

interface FirstRows {
  readonly rows: readonly EntityRow[];
  /** Whether no further row was found. */
  readonly areAll: boolean;
}

interface IdentityRow extends Binding {
  readonly entity: EntityId;
}

/**
 * Profiles in `entities.db`, next to memberships, history, counts and catalogue, so that one transaction stores all
 * changes of a message. Suppression is stored in `ledger.db`. Nothing else runs between the queries to the two files
 * and the end of the transaction: this process owns both files and every step is synchronous.
 */
export function sqliteEntityStore(db: Database, ledger: Database): EntityStore {
  const findOwners = db.prepare("SELECT hash, entity FROM identity WHERE hash IN (SELECT value FROM json_each(?))");
  const findRows = db.prepare("SELECT * FROM entity WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id");
  const findRowAlone = db.prepare("SELECT * FROM entity WHERE id = ?");
  const findRowWithoutDocument = db.prepare(
    `SELECT id, "table", revision, born, merged, x'' AS sealed FROM entity WHERE id = ?`,
  );
  const findBindings = db.prepare(
    "SELECT hash, entity, since FROM identity WHERE entity IN (SELECT value FROM json_each(?)) ORDER BY hash",
  );
  const findRevisions = db.prepare("SELECT id, revision FROM entity WHERE id IN (SELECT value FROM json_each(?))");
  const put = db.prepare(`INSERT INTO entity (id, "table", revision, born, merged, sealed) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, born = excluded.born, merged = excluded.merged, sealed = excluded.sealed`);
  const bind = db.prepare(`INSERT INTO identity (hash, entity, since) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
    SET entity = excluded.entity, since = excluded.since WHERE entity <> excluded.entity OR since <> excluded.since`);
  const remove = db.prepare("DELETE FROM entity WHERE id IN (SELECT value FROM json_each(?))");
  const stored = db.prepare("SELECT 1 FROM entity WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1");
  const keptMessage = db.prepare("SELECT 1 FROM message WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1");
  const keepMessage = db.prepare(`INSERT INTO message (id, "table", stream, entity, time, arrival, position, sealed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const addCount = db.prepare(addSlotCount);
  const noteArrival = db.prepare(`INSERT INTO stream (name, last_arrival) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET last_arrival = max(last_arrival, excluded.last_arrival)`);
  const register = db.prepare(`INSERT OR IGNORE INTO segment (id, name, "table") VALUES (?1, ?1, ?2)`);
  const memberships = membershipRows(db);
  const segments = segmentDeletions(db);
  const suppression = suppressionIn(ledger);
  const addKeysOf = addKeys(ledger);

  const ownersOf = (hashes: readonly string[]) =>
    new Map((findOwners.all(JSON.stringify(hashes)) as unknown as IdentityRow[]).map((row) => [row.hash, row.entity]));

  function isAsPlanned(commit: Commit): boolean {
    const { profiles, messages, owners, cutOffs } = commit;
    if (namesSegments(commit) && segments.newest() !== commit.generation) return false;
    const planned = profiles.flatMap(({ entity, mergedFrom }) => [entity, ...mergedFrom]);
    const ids = planned.map(({ id }) => id);
    if (suppression.erased([...ids, ...profiles.flatMap(({ entity }) => entity.mergedIds)]).size > 0) return false;
    // A profile that is not stored has revision 0.
    const rows = findRevisions.all(JSON.stringify(ids)) as { id: string; revision: number }[];
    const revisions = new Map(rows.map(({ id, revision }) => [id, revision]));
    if (!planned.every(({ id, revision }) => (revisions.get(id) ?? 0) === revision)) return false;
    const hashes = [...owners.keys()];
    const held = ownersOf(hashes);
    const cut = suppression.cutOffs(hashes);
    const isSame = (hash: string) =>
      held.get(hash) === owners.get(hash) && cut.get(hash)?.position === cutOffs.get(hash)?.position;
    if (!hashes.every(isSame)) return false;
    return keptMessage.get(JSON.stringify(messages.map(({ id }) => id))) === undefined;
  }

  function keepProfile({ entity, mergedFrom, changedSegments, changedBindings }: ProfileChange): void {
    put.run(entity.id, entity.table, entity.revision + 1, entity.born, JSON.stringify(entity.mergedIds), entity.sealed);
    if (mergedFrom.length > 0) remove.run(JSON.stringify(mergedFrom.map(({ id }) => id)));
    for (const { hash, since } of changedBindings) bind.run(hash, entity.id, since);
    memberships.keep(entity.id, entity.memberships, changedSegments);
  }

  function countChanges(commit: Commit): void {
    for (const { stream, slot, count } of commitMoves(commit)) addCount.run(stream, slot, count);
    for (const { stream, slot, count, arrival } of streamCounts(commit.messages)) {
      addCount.run(stream, slot, count);
      noteArrival.run(stream, arrival);
    }
  }

  /** Yields rows one by one; without its document, which then cannot be decrypted, where a page of it is damaged. */
  function* rowsAlone(ids: readonly EntityId[]): Generator<EntityRow> {
    for (const id of [...ids].sort()) {
      const row = unlessDamaged(() => findRowAlone.get(id)) ?? findRowWithoutDocument.get(id);
      if (row !== undefined) yield row as unknown as EntityRow;
    }
  }

  const allRows = (ids: readonly EntityId[]) =>
    findRows.iterate(JSON.stringify(ids)) as Iterable<unknown> as Iterable<EntityRow>;

  /** Returns the first rows, in the order of their ids, that fit into `maxBytes`; at least one. */
  function rowsWithin(ids: readonly EntityId[], maxBytes: number): FirstRows {
    return unlessDamaged(() => firstRows(allRows(ids), maxBytes)) ?? firstRows(rowsAlone(ids), maxBytes);
  }

  function firstRows(found: Iterable<EntityRow>, maxBytes: number): FirstRows {
    const rows: EntityRow[] = [];
    let bytes = 0;
    for (const row of found) {
      bytes += row.sealed.length;
      if (bytes > maxBytes && rows.length > 0) return { rows, areAll: false };
      rows.push(row);
    }
    return { rows, areAll: true };
  }

  /** Returns the first of these rows that fit into `maxBytes` with their updates; at least one. */
  function withMemberships(rows: readonly EntityRow[], maxBytes: number) {
    for (let first = rows; ; first = first.slice(0, Math.ceil(first.length / 2))) {
      const bytes = first.reduce((sum, { sealed }) => sum + sealed.length, 0);
      const most = first.length > 1 ? Math.floor((maxBytes - bytes) / UPDATE_BYTES) : Number.POSITIVE_INFINITY;
      const known = memberships.of(JSON.stringify(first.map(({ id }) => id)), most);
      if (known !== undefined) return { first, known };
    }
  }

  function load(ids: readonly EntityId[], maxBytes = PAGE_BYTES): LoadedEntities {
    const { rows, areAll } = rowsWithin(ids, maxBytes);
    const { first, known } = withMemberships(rows, maxBytes);
    const bindings = new Map<EntityId, Binding[]>(first.map(({ id }) => [id, []]));
    const stored = JSON.stringify([...bindings.keys()]);
    for (const { hash, entity, since } of findBindings.all(stored) as unknown as IdentityRow[]) {
      bindings.get(entity)?.push({ hash, since });
    }
    const profiles = first.map((row) => entityOf(row, bindings.get(row.id) ?? [], known.get(row.id)));
    const erased = suppression.erased(profiles.flatMap(idsOf));
    const live = profiles.filter((profile) => !idsOf(profile).some((id) => erased.has(id)));
    const last = areAll && first.length === rows.length ? undefined : first.at(-1)?.id;
    return {
      profiles: new Map(live.map((profile) => [profile.id, profile])),
      left: last === undefined ? [] : ids.filter((id) => id > last),
    };
  }

  return {
    async find(hashes, maxBytes, named) {
      const owners = ownersOf(hashes);
      const deletions = named === undefined ? noSegmentDeletions : segments.of(named);
      return { owners, ...load([...new Set(owners.values())], maxBytes), deletions };
    },

    load: async (ids, maxBytes) => load(ids, maxBytes),

    async commit(commit) {
      if (!isAsPlanned(commit)) return false;
      if (commit.keys.size > 0) inTransaction(ledger, () => addKeysOf(commit.keys));
      inTransaction(db, () => {
        for (const profile of commit.profiles) keepProfile(profile);
        for (const { id, table, stream, entity, time, arrival, position, sealed } of commit.messages) {
          keepMessage.run(id, table, stream, entity, time, arrival, position, sealed);
        }
        countChanges(commit);
        for (const { id, table } of commit.segments) register.run(id, table);
      });
      return true;
    },

    erase: sharingCommits((ids: readonly EntityId[]) => {
      remove.run(JSON.stringify(ids));
    }),

    holds: async (ids) => stored.get(JSON.stringify(ids)) !== undefined,
  };
}

function entityOf(row: EntityRow, bindings: readonly Binding[], memberships: Memberships | undefined): StoredEntity {
  return {
    id: row.id,
    table: row.table,
    revision: row.revision,
    born: row.born,
    bindings,
    mergedIds: JSON.parse(row.merged) as EntityId[],
    memberships: memberships ?? { fullSince: undefined, updates: new Map() },
    sealed: row.sealed,
  };
}
