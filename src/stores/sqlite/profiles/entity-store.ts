import type { Clock } from "../../../clock.js";
import {
  type Commit,
  type DueProfile,
  type EntityStore,
  type LoadedEntities,
  PAGE_BYTES,
  type ProfileChange,
} from "../../../entities/ports.js";
import {
  type EntityId,
  idsOf,
  type MembershipUpdate,
  noSegmentDeletions,
  type StoredEntity,
  type StoredUpdate,
  UPDATE_BYTES,
  type UpdateVersion,
  updatesBySegment,
  validMemberships,
} from "../../../entities/profile/entity.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { commitCounts } from "../../../metrics/added-counts.js";
import { type Database, exactJson, inTransaction, sharingCommits, unlessDamaged } from "../connection.js";
import { suppressionIn } from "../deletions/suppression.js";
import { addSlotCount } from "../series/slot-counts.js";
import { segmentDeletions } from "./deleted-segments.js";
import { addKeys } from "./entity-keys.js";
import { storedMessages } from "./history.js";
import { COUNTED_AT_ONCE, membershipRemoval, total } from "./membership-index.js";
import { outboxWrites } from "./outbox.js";

/**
 * `merged` is a JSON array of the ids that were merged into the profile, `full_since` the version of its newest full
 * list of segments as JSON. Rows that refer to a profile are removed with it: identities here, memberships. A hash is
 * stored as its 32 bytes: each new identity changes a random page, so the table should have few.
 */
export const entitySchema = `
  CREATE TABLE IF NOT EXISTS entity (
    id TEXT PRIMARY KEY, "table" TEXT NOT NULL, revision INTEGER NOT NULL, born REAL NOT NULL, merged TEXT NOT NULL,
    full_since TEXT, sealed BLOB NOT NULL, due REAL
  );
  CREATE INDEX IF NOT EXISTS entity_table ON entity ("table", id);
  CREATE INDEX IF NOT EXISTS entity_due ON entity (due, id) WHERE due IS NOT NULL;
  CREATE TABLE IF NOT EXISTS identity (
    hash BLOB PRIMARY KEY, entity TEXT NOT NULL REFERENCES entity ON DELETE CASCADE
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS identity_entity ON identity (entity);`;

interface EntityRow extends Pick<StoredEntity, "id" | "table" | "revision" | "born" | "sealed"> {
  readonly merged: string;
  readonly full_since: string | null;
  readonly due: number | null;
  /** JSON array. */
  readonly hashes: string;
  /** JSON array of `StoredUpdate`. */
  readonly updates: string;
}

/** Size of a profile as `EntityStore.load` counts it. */
interface Size {
  readonly id: EntityId;
  readonly bytes: number;
}

/**
 * Profiles in `entities.db`, next to memberships, history, counts and catalogue, so that one transaction stores all
 * changes of a message. Suppression is stored in `ledger.db`. Nothing else runs between the queries to the two files
 * and the end of the transaction: this process owns both files and every step is synchronous.
 */
export function sqliteEntityStore(
  db: Database,
  ledger: Database,
  clock: Clock,
  outbox = outboxWrites(db, []),
): EntityStore {
  const rowsWith = (sealed: string) => `SELECT id, "table", revision, born, merged, full_since, due,
      (SELECT json_group_array(lower(hex(hash)) ORDER BY hash) FROM identity WHERE entity = entity.id) AS hashes,
      (SELECT json_group_array(json_array(
          segment, member, ${exactJson("time")}, ${exactJson("arrival")}, position, generation))
        FROM membership WHERE entity = entity.id) AS updates, ${sealed} AS sealed
    FROM entity WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`;
  const findRows = db.prepare(rowsWith("sealed"));
  // The length of a document is read without the document.
  const findSizes = db.prepare(`SELECT id, length(sealed) + ${UPDATE_BYTES} *
      (SELECT count(*) FROM membership WHERE entity = entity.id) AS bytes
    FROM entity WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`);
  const findRowWithoutDocument = db.prepare(rowsWith("x''"));
  const put = db.prepare(`INSERT INTO entity (id, "table", revision, born, merged, full_since, due, sealed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision, born = excluded.born,
      merged = excluded.merged, full_since = excluded.full_since, due = excluded.due, sealed = excluded.sealed`);
  const bind = db.prepare(`INSERT INTO identity (hash, entity) VALUES (unhex(?), ?)
    ON CONFLICT DO UPDATE SET entity = excluded.entity`);
  const remove = db.prepare("DELETE FROM entity WHERE id IN (SELECT value FROM json_each(?))");
  const findIds = db.prepare("SELECT id FROM entity WHERE id > ? ORDER BY id LIMIT ?");
  const findIdsOf = db.prepare(`SELECT id FROM entity WHERE "table" = ? AND id > ? ORDER BY id LIMIT ?`);
  const countIdsOf = db.prepare(`SELECT count(*) AS counted, iif(count(*) < ${COUNTED_AT_ONCE}, NULL, max(id)) AS next
    FROM (SELECT id FROM entity WHERE "table" = ? AND id > ? ORDER BY id LIMIT ${COUNTED_AT_ONCE})`);
  const findDue = db.prepare(`SELECT id, due FROM entity WHERE due <= ? AND (due, id) > (?, ?)
    ORDER BY due, id LIMIT ?`);
  const stored = db.prepare("SELECT 1 FROM entity WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1");
  const storedMessage = db.prepare(`${storedMessages} LIMIT 1`);
  const putMessage = db.prepare(`INSERT INTO message (id, "table", stream, entity, time, arrival, position, sealed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const putLastingId = db.prepare("INSERT INTO lasting_message_id (id) VALUES (?)");
  const addCount = db.prepare(addSlotCount);
  const recordArrival = db.prepare(`INSERT INTO stream (name, last_arrival) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET last_arrival = max(last_arrival, excluded.last_arrival)`);
  const register = db.prepare(`INSERT OR IGNORE INTO segment (id, name, "table") VALUES (?1, ?1, ?2)`);
  const putUpdate = db.prepare(`INSERT INTO membership (entity, segment, member, time, arrival, position, generation)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET member = excluded.member, time = excluded.time,
      arrival = excluded.arrival, position = excluded.position, generation = excluded.generation`);
  const segments = segmentDeletions(db);
  const suppression = suppressionIn(ledger);
  const addKeysOf = addKeys(ledger);
  const removeMemberships = membershipRemoval(db);
  const { ownersOf, isUnchanged } = storedState(db);

  function isAsPlanned(commit: Commit): boolean {
    const { profiles, messages, owners, cutOffs } = commit;
    if (segments.newest() !== commit.generation) return false;
    const planned = profiles.flatMap(({ entity, mergedFrom }) => [entity, ...mergedFrom]);
    const ids = planned.map(({ id }) => id);
    if (suppression.erased([...ids, ...profiles.flatMap(({ entity }) => entity.mergedIds)]).size > 0) return false;
    if (!isUnchanged(planned, owners)) return false;
    const hashes = [...owners.keys()];
    const cutOffsNow = suppression.cutOffs(hashes);
    if (!hashes.every((hash) => cutOffsNow.get(hash)?.position === cutOffs.get(hash)?.position)) return false;
    return storedMessage.get(JSON.stringify(messages.map(({ id }) => id))) === undefined;
  }

  function putProfile({ entity, mergedFrom, changedSegments, addedHashes }: ProfileChange): void {
    const { id, table, revision, born, mergedIds, due = null, sealed } = entity;
    const { fullSince, updates } = entity.memberships;
    const full = fullSince === undefined ? null : JSON.stringify(fullSince);
    put.run(id, table, revision + 1, born, JSON.stringify(mergedIds), full, due, sealed);
    if (mergedFrom.length > 0) remove.run(JSON.stringify(mergedFrom.map(({ id }) => id)));
    for (const hash of addedHashes) bind.run(hash, id);
    for (const segment of changedSegments) {
      const { member, time, arrival, position, generation } = updates.get(segment) as MembershipUpdate;
      putUpdate.run(id, segment, member ? 1 : 0, time, arrival, position, generation);
    }
  }

  function countChanges(commit: Commit): void {
    for (const { stream, slot, count, arrival } of commitCounts(commit)) {
      addCount.run(stream, slot, count);
      if (arrival !== undefined) recordArrival.run(stream, arrival);
    }
  }

  /**
   * Returns the ids of the first stored profiles, in the order of their ids, that fit into `maxBytes`; at least one.
   */
  function idsWithin(ids: readonly EntityId[], maxBytes: number): { first: EntityId[]; left: readonly EntityId[] } {
    const first: EntityId[] = [];
    let sum = 0;
    for (const { id, bytes } of findSizes.iterate(JSON.stringify(ids)) as Iterable<unknown> as Iterable<Size>) {
      sum += bytes;
      if (sum > maxBytes && first.length > 0) return { first, left: ids.filter((other) => other >= id) };
      first.push(id);
    }
    return { first, left: [] };
  }

  /**
   * Returns the rows of profiles; without its document, which then cannot be decrypted, where a page of it is damaged.
   */
  function rowsOf(ids: readonly EntityId[]): EntityRow[] {
    const rows =
      unlessDamaged(() => findRows.all(JSON.stringify(ids))) ??
      ids.flatMap(
        (id) =>
          unlessDamaged(() => findRows.get(JSON.stringify([id]))) ??
          findRowWithoutDocument.get(JSON.stringify([id])) ??
          [],
      );
    return rows as unknown as EntityRow[];
  }

  function load(ids: readonly EntityId[], maxBytes = PAGE_BYTES): LoadedEntities {
    // A single profile is returned whatever its size.
    const { first, left } = ids.length > 1 ? idsWithin(ids, maxBytes) : { first: ids, left: [] };
    const generations = segments.ending();
    const profiles = rowsOf(first).map((row) => entityOf(row, generations));
    const erased = suppression.erased(profiles.flatMap(idsOf));
    const live = profiles.filter((profile) => !idsOf(profile).some((id) => erased.has(id)));
    return { profiles: new Map(live.map((profile) => [profile.id, profile])), left };
  }

  return {
    async find(hashes, maxBytes, named) {
      const owners = ownersOf(hashes);
      const deletions = named === undefined ? noSegmentDeletions : segments.of(named);
      return { owners, ...load([...new Set(owners.values())], maxBytes), deletions };
    },

    load: async (ids, maxBytes) => load(ids, maxBytes),

    async idsAfter(after = "", limit, table) {
      const rows = table === undefined ? findIds.all(after, limit) : findIdsOf.all(table, after, limit);
      return (rows as { id: EntityId }[]).map(({ id }) => id);
    },

    count: (table) => total((after) => countIdsOf.get(table, after)),

    async dueAfter(now, { due, id } = { due: Number.NEGATIVE_INFINITY, id: "" }, limit) {
      return (findDue.all(now, due, id, limit) as unknown as DueProfile[]).map((row) => ({ ...row }));
    },

    async commit(commit) {
      if (!isAsPlanned(commit)) return false;
      if (commit.keys.size > 0) inTransaction(ledger, () => addKeysOf(commit.keys));
      inTransaction(db, () => {
        for (const profile of commit.profiles) putProfile(profile);
        for (const { id, table, stream, entity, time, arrival, position, sealed } of commit.messages) {
          putMessage.run(id, table, stream, entity, time, arrival, position, sealed);
        }
        for (const id of commit.lastingIds) putLastingId.run(id);
        countChanges(commit);
        outbox.commit(commit);
        for (const { id, table } of commit.segments) register.run(id, table);
      });
      return true;
    },

    // Counts members who are still stored, as the membership index does: their rows are removed with the profile.
    erase: sharingCommits((ids: readonly EntityId[]) =>
      inTransaction(db, () => {
        removeMemberships(ids, clock());
        remove.run(JSON.stringify(ids));
      }),
    ),

    holds: async (ids) => stored.get(JSON.stringify(ids)) !== undefined,
  };
}

/** Reads the owners of identities, and compares what a plan was made from with what is stored. */
export function storedState(db: Database) {
  // Pairs as one JSON text: the driver takes longer for a row than SQLite and the parser together.
  const findOwners = db.prepare(`SELECT json_group_array(json_array(lower(hex(hash)), entity)) AS pairs
    FROM identity WHERE hash IN (SELECT unhex(value) FROM json_each(?))`);
  const findRevisions = db.prepare(`SELECT json_group_array(json_array(id, revision)) AS pairs
    FROM entity WHERE id IN (SELECT value FROM json_each(?))`);
  const ownersOf = (hashes: readonly IdentityHash[]) => pairsOf<EntityId>(findOwners.get(JSON.stringify(hashes)));

  return {
    ownersOf,

    /** Returns whether profiles have these revisions (0: not stored) and identities these owners. */
    isUnchanged(profiles: readonly { readonly id: EntityId; readonly revision: number }[], owners: Commit["owners"]) {
      const revisions = pairsOf<number>(findRevisions.get(JSON.stringify(profiles.map(({ id }) => id))));
      if (!profiles.every(({ id, revision }) => (revisions.get(id) ?? 0) === revision)) return false;
      const now = ownersOf([...owners.keys()]);
      return [...owners].every(([hash, owner]) => now.get(hash) === owner);
    },
  };
}

/** Returns the pairs of a row as a map. */
function pairsOf<V>(row: unknown): Map<string, V> {
  return new Map(JSON.parse((row as { pairs: string }).pairs) as [string, V][]);
}

function entityOf(row: EntityRow, generations: ReadonlyMap<string, number>): StoredEntity {
  const fullSince = row.full_since === null ? undefined : (JSON.parse(row.full_since) as UpdateVersion);
  const updates = updatesBySegment(JSON.parse(row.updates) as StoredUpdate[]);
  return {
    id: row.id,
    table: row.table,
    revision: row.revision,
    born: row.born,
    hashes: JSON.parse(row.hashes) as IdentityHash[],
    mergedIds: JSON.parse(row.merged) as EntityId[],
    due: row.due ?? undefined,
    memberships: validMemberships({ fullSince, updates }, generations),
    sealed: row.sealed,
  };
}
