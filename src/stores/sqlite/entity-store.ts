import {
  type Binding,
  type EntityId,
  idsOf,
  type MembershipStatement,
  type Memberships,
  type Stamp,
  type StoredEntity,
} from "../../entities/entity.js";
import { type Commit, type EntityStore, type ProfileChange, STATEMENT_BYTES } from "../../entities/entity-store.js";
import { type Database, inTransaction } from "./database.js";
import { addKeys } from "./entity-keys.js";
import { suppressionIn } from "./suppression.js";

/** `joined` is a JSON array of the ids that were merged into the profile. */
export const entitySchema = `
  CREATE TABLE IF NOT EXISTS entity (
    id TEXT PRIMARY KEY, "table" TEXT NOT NULL, revision INTEGER NOT NULL, born REAL NOT NULL, joined TEXT NOT NULL, sealed BLOB NOT NULL
  );
  CREATE TABLE IF NOT EXISTS identity (hash TEXT PRIMARY KEY, entity TEXT NOT NULL, since REAL NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS identity_entity ON identity (entity);`;

interface EntityRow {
  readonly id: EntityId;
  readonly table: string;
  readonly revision: number;
  readonly born: number;
  readonly joined: string;
  readonly sealed: Uint8Array;
}

interface IdentityRow extends Binding {
  readonly entity: EntityId;
}

/**
 * Profiles in `entities.db`, beside memberships, history, counts and catalogue, so that one transaction keeps all that messages
 * change. What was asked to be erased stands in `ledger.db`. Between the questions to the two files and the end of the transaction
 * nothing else runs, as this process alone has them and every step is synchronous.
 */
export function sqliteEntityStore(db: Database, ledger: Database, slotMs: number): EntityStore {
  const findOwners = db.prepare("SELECT hash, entity FROM identity WHERE hash IN (SELECT value FROM json_each(?))");
  const findWeights = db.prepare(`SELECT hash, entity, coalesce(length(sealed), 0)
    + ${STATEMENT_BYTES} * (SELECT count(*) FROM membership WHERE membership.entity = identity.entity) AS bytes
    FROM identity LEFT JOIN entity ON entity.id = identity.entity WHERE hash IN (SELECT value FROM json_each(?))`);
  const findRows = db.prepare("SELECT * FROM entity WHERE id IN (SELECT value FROM json_each(?))");
  const findBindings = db.prepare(
    "SELECT hash, entity, since FROM identity WHERE entity IN (SELECT value FROM json_each(?)) ORDER BY hash",
  );
  const revisionOf = db.prepare("SELECT revision FROM entity WHERE id = ?");
  const put = db.prepare(`INSERT INTO entity (id, "table", revision, born, joined, sealed) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = excluded.revision, born = excluded.born, joined = excluded.joined, sealed = excluded.sealed`);
  const bind = db.prepare(`INSERT INTO identity (hash, entity, since) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
    SET entity = excluded.entity, since = excluded.since WHERE entity <> excluded.entity OR since <> excluded.since`);
  const remove = db.prepare("DELETE FROM entity WHERE id = ?");
  const unbind = db.prepare("DELETE FROM identity WHERE entity = ?");
  const stored = db.prepare(`SELECT 1 FROM entity WHERE id IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT 1 FROM identity WHERE entity IN (SELECT value FROM json_each(?1)) LIMIT 1`);
  const keptMessage = db.prepare("SELECT 1 FROM message WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1");
  const keepMessage = db.prepare(`INSERT INTO message (id, "table", stream, entity, time, arrival, position, sealed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const count = db.prepare(`INSERT INTO stream_count (stream, slot, count, saved) VALUES (?, ?, ?, NULL)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`);
  const noteArrival = db.prepare(`INSERT INTO stream (name, last_arrival) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET last_arrival = max(last_arrival, excluded.last_arrival)`);
  const register = db.prepare(`INSERT OR IGNORE INTO segment (id, name, "table") VALUES (?1, ?1, ?2)`);
  const memberships = membershipRows(db);
  const suppression = suppressionIn(ledger);
  const addKeysOf = addKeys(ledger);

  const ownersOf = (hashes: readonly string[]) =>
    new Map((findOwners.all(JSON.stringify(hashes)) as unknown as IdentityRow[]).map((row) => [row.hash, row.entity]));

  /** Whether a profile still is as it was when this revision of it was read; 0: it is not stored. */
  const isAt = (id: EntityId, revision: number) =>
    ((revisionOf.get(id) as { revision: number } | undefined)?.revision ?? 0) === revision;

  function isAsPlanned({ profiles, messages, owners, cutOffs }: Commit): boolean {
    const ids = profiles.flatMap(({ entity, absorbs }) => [
      entity.id,
      ...entity.joined,
      ...absorbs.map(({ id }) => id),
    ]);
    if (suppression.erased(ids).size > 0) return false;
    for (const { entity, absorbs } of profiles) {
      if (!isAt(entity.id, entity.revision) || !absorbs.every(({ id, revision }) => isAt(id, revision))) return false;
    }
    const hashes = [...owners.keys()];
    const held = ownersOf(hashes);
    const cut = suppression.cutOffs(hashes);
    if (!hashes.every((hash) => held.get(hash) === owners.get(hash) && cut.get(hash) === cutOffs.get(hash)))
      return false;
    return keptMessage.get(JSON.stringify(messages.map(({ id }) => id))) === undefined;
  }

  function keepProfile({ entity, absorbs, changedSegments }: ProfileChange): void {
    put.run(entity.id, entity.table, entity.revision + 1, entity.born, JSON.stringify(entity.joined), entity.sealed);
    for (const { id } of absorbs) {
      remove.run(id);
      unbind.run(id);
      memberships.forget(id);
    }
    for (const { hash, since } of entity.bindings) bind.run(hash, entity.id, since);
    memberships.keep(entity.id, entity.memberships, changedSegments);
  }

  function countMessages({ messages }: Commit): void {
    const counts = new Map<string, Map<number, number>>();
    const arrivals = new Map<string, number>();
    for (const { stream, time, arrival } of messages) {
      arrivals.set(stream, Math.max(arrival, arrivals.get(stream) ?? arrival));
      const slots = counts.get(stream) ?? new Map<number, number>();
      const slot = Math.floor(time / slotMs) * slotMs;
      counts.set(stream, slots.set(slot, (slots.get(slot) ?? 0) + 1));
    }
    for (const [stream, slots] of counts) for (const [slot, more] of slots) count.run(stream, slot, more);
    for (const [stream, arrival] of arrivals) noteArrival.run(stream, arrival);
  }

  function load(ids: readonly EntityId[]): Map<EntityId, StoredEntity> {
    const wanted = JSON.stringify(ids);
    const rows = findRows.all(wanted) as unknown as EntityRow[];
    const bindings = new Map<EntityId, Binding[]>(rows.map(({ id }) => [id, []]));
    for (const { hash, entity, since } of findBindings.all(wanted) as unknown as IdentityRow[]) {
      bindings.get(entity)?.push({ hash, since });
    }
    const known = memberships.of(wanted);
    const profiles = rows.map((row) => entityOf(row, bindings.get(row.id) ?? [], known.get(row.id)));
    const erased = suppression.erased(profiles.flatMap(idsOf));
    const live = profiles.filter((profile) => !idsOf(profile).some((id) => erased.has(id)));
    return new Map(live.map((profile) => [profile.id, profile]));
  }

  return {
    async find(hashes) {
      const owners = ownersOf(hashes);
      return { owners, profiles: load([...new Set(owners.values())]) };
    },

    async weigh(hashes) {
      const rows = findWeights.all(JSON.stringify(hashes)) as { hash: string; entity: EntityId; bytes: number }[];
      return new Map(rows.map(({ hash, entity, bytes }) => [hash, { entity, bytes }]));
    },

    load: async (ids) => load(ids),

    async commit(commit) {
      if (!isAsPlanned(commit)) return false;
      if (commit.keys.size > 0) inTransaction(ledger, () => addKeysOf(commit.keys));
      inTransaction(db, () => {
        for (const profile of commit.profiles) keepProfile(profile);
        for (const { id, table, stream, entity, time, arrival, position, sealed } of commit.messages) {
          keepMessage.run(id, table, stream, entity, time, arrival, position, sealed);
        }
        countMessages(commit);
        for (const { id, table } of commit.segments) register.run(id, table);
      });
      return true;
    },

    async erase(ids) {
      inTransaction(db, () => {
        for (const id of ids) {
          remove.run(id);
          unbind.run(id);
          memberships.forget(id);
        }
      });
    },

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
    joined: JSON.parse(row.joined) as EntityId[],
    memberships: memberships ?? { fullSince: undefined, statements: new Map() },
    sealed: new Uint8Array(row.sealed),
  };
}

/** What profiles say of segments, a row a statement. */
function membershipRows(db: Database) {
  const statements = db.prepare(`SELECT entity, segment, member, time, arrival, position FROM membership
    WHERE entity IN (SELECT value FROM json_each(?))`);
  const fullLists = db.prepare(`SELECT entity, time, arrival, position FROM membership_full
    WHERE entity IN (SELECT value FROM json_each(?))`);
  const state = db.prepare(`INSERT INTO membership (entity, segment, member, time, arrival, position)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET member = excluded.member, time = excluded.time, arrival = excluded.arrival, position = excluded.position`);
  const noteFull = db.prepare(
    "INSERT OR REPLACE INTO membership_full (entity, time, arrival, position) VALUES (?, ?, ?, ?)",
  );
  const forgetStatements = db.prepare("DELETE FROM membership WHERE entity = ?");
  const forgetFull = db.prepare("DELETE FROM membership_full WHERE entity = ?");

  return {
    /** `ids` is a JSON array. */
    of(ids: string): Map<EntityId, Memberships> {
      type Row = Stamp & { readonly entity: EntityId };
      const full = new Map(
        (fullLists.all(ids) as unknown as Row[]).map(({ entity, ...stamp }) => [entity, { ...stamp }]),
      );
      const bySegment = new Map<EntityId, Map<string, MembershipStatement>>();
      for (const row of statements.all(ids) as unknown as (Row & { segment: string; member: number })[]) {
        const { entity, segment, member, time, arrival, position } = row;
        const own = bySegment.get(entity) ?? new Map<string, MembershipStatement>();
        bySegment.set(entity, own.set(segment, { member: member === 1, time, arrival, position }));
      }
      return new Map(
        [...new Set([...full.keys(), ...bySegment.keys()])].map((entity) => [
          entity,
          { fullSince: full.get(entity), statements: bySegment.get(entity) ?? new Map() },
        ]),
      );
    },

    keep(entity: EntityId, { fullSince, statements }: Memberships, changed: ReadonlySet<string>): void {
      for (const segment of changed) {
        const statement = statements.get(segment);
        if (statement === undefined) continue;
        state.run(entity, segment, statement.member ? 1 : 0, statement.time, statement.arrival, statement.position);
      }
      if (fullSince !== undefined) noteFull.run(entity, fullSince.time, fullSince.arrival, fullSince.position);
    },

    forget(entity: EntityId): void {
      forgetStatements.run(entity);
      forgetFull.run(entity);
    },
  };
}
