import { yieldWhenDue } from "../../../async/yielding.js";
import {
  deletedRows,
  type Hook,
  type NewOutboxRow,
  type Outbox,
  type OutboxRow,
  outboxChange,
  outboxEntities,
  SEGMENT,
} from "../../../entities/outbox.js";
import type { Commit } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import { type Database, exactJson, inTransaction, sharingCommits, withoutSync } from "../connection.js";
import { segmentDeletions } from "./deleted-segments.js";

/** Rows are appended and never changed but for their state, so the oldest have the lowest ids. */
export const outboxSchema = `
  CREATE TABLE IF NOT EXISTS hook_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hook TEXT NOT NULL, segment TEXT NOT NULL, entity TEXT NOT NULL,
    change TEXT NOT NULL, at REAL NOT NULL, generation INTEGER NOT NULL, state TEXT NOT NULL, cancels INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS hook_event_hook ON hook_event (hook);
  CREATE INDEX IF NOT EXISTS hook_event_entity ON hook_event (entity);`;

const AMONG = "IN (SELECT value FROM json_each(?))";

/** Returns the query of rows as one JSON text: the driver needs longer for a row than SQLite and the parser. */
const rowsOf = (where: string) => `SELECT json_group_array(json_object('id', CAST(id AS TEXT), 'hook', hook,
    'segment', segment, 'entity', entity, 'change', change, 'at', ${exactJson("at")}, 'generation', generation,
    'state', state, 'cancels', json(iif(cancels, 'true', 'false')))) AS rows
  FROM (SELECT * FROM hook_event WHERE ${where})`;

const rowsIn = (row: unknown) => JSON.parse((row as { rows: string }).rows) as OutboxRow[];

/** Condition of rows that are not in a request. */
const UNSENT = "state <> 'sending'";

/** Rows removed by one step; other requests run between steps. */
const ROWS_PER_STEP = 1_000;

/** Writes of the outbox inside the caller's transaction. */
export function outboxWrites(db: Database, hooks: readonly Hook[]) {
  const find = db.prepare(rowsOf(`entity ${AMONG}`));
  const put = db.prepare(`INSERT INTO hook_event
    (hook, segment, entity, change, at, generation, state, cancels) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const remove = db.prepare(`DELETE FROM hook_event WHERE id ${AMONG}`);
  const erase = db.prepare(`DELETE FROM hook_event WHERE entity ${AMONG} AND ${UNSENT}`);

  const of = (entities: readonly EntityId[]) => rowsIn(find.get(JSON.stringify(entities)));
  function add(rows: readonly NewOutboxRow[]): void {
    for (const { hook, segment, entity, change, at, generation, state, cancels } of rows)
      put.run(hook, segment, entity, change, at, generation, state, cancels ? 1 : 0);
  }

  return {
    of,
    add,
    remove: (ids: readonly string[]) => void remove.run(JSON.stringify(ids.map(Number))),
    erase: (entities: readonly EntityId[]) => void erase.run(JSON.stringify(entities)),

    /** Stores the changes of a commit. */
    commit(commit: Commit): void {
      const entities = outboxEntities(hooks, commit);
      if (entities.length === 0) return;
      const { removed, added } = outboxChange(hooks, commit, of(entities));
      if (removed.length > 0) remove.run(JSON.stringify(removed.map(({ id }) => Number(id))));
      add(added);
    },

    /** Stores the deletion of a segment. */
    deleteSegment: (segment: string, at: number, generation: number) =>
      add(deletedRows(hooks, segment, at, generation)),
  };
}

/** The outbox in `entities.db`. Opening it ends the requests of an earlier process: only this one uses the file. */
export function sqliteOutbox(db: Database): Outbox {
  const { of, add, remove, erase } = outboxWrites(db, []);
  const page = db.prepare(rowsOf(`hook = ? AND id > ? AND ${UNSENT} ORDER BY id LIMIT ?`));
  const claim = db.prepare(`UPDATE hook_event SET state = 'sending' WHERE id ${AMONG} AND ${UNSENT} RETURNING id`);
  const fail = db.prepare(`UPDATE hook_event SET state = 'failed' WHERE id ${AMONG} AND state = 'sending'`);
  const failAll = db.prepare("UPDATE hook_event SET state = 'failed' WHERE state = 'sending'");
  const waits = db.prepare(
    "SELECT 1 FROM hook_event WHERE entity = ? AND hook = ? AND segment = ? AND state = 'waiting'",
  );
  const count = db.prepare(`SELECT count(*) AS waiting,
    (SELECT at FROM hook_event WHERE hook = ?1 ORDER BY id LIMIT 1) AS oldest FROM hook_event WHERE hook = ?1`);
  const removeOthers = db.prepare(`DELETE FROM hook_event WHERE id IN (SELECT id FROM hook_event
    WHERE hook NOT ${AMONG} LIMIT ${ROWS_PER_STEP})`);
  const removeOtherSegments = db.prepare(`DELETE FROM hook_event WHERE id IN (SELECT id FROM hook_event
    WHERE hook = ? AND segment NOT ${AMONG} LIMIT ${ROWS_PER_STEP})`);
  const held = db.prepare(`SELECT 1 FROM hook_event WHERE entity ${AMONG} AND ${UNSENT} LIMIT 1`);
  const { newest, begin } = segmentDeletions(db);
  failAll.run();

  return {
    of: async (entities) => of(entities),
    page: async (hook, after, limit) => rowsIn(page.get(hook, Number(after?.id ?? 0), limit)),
    claim: async (ids) => new Set(claim.all(JSON.stringify(ids.map(Number))).map(({ id }) => String(id))),

    // A power cut may lose the next three: the changes are sent again.
    async release(ids) {
      withoutSync(db, () => (ids === undefined ? failAll.run() : fail.run(JSON.stringify(ids.map(Number)))));
    },
    remove: async (ids) => withoutSync(db, () => remove(ids)),
    async addMembers(joined, members) {
      const row = { ...joined, change: "joined", generation: newest(), state: "waiting" } as const;
      const missing = members.filter((entity) => waits.get(entity, joined.hook, joined.segment) === undefined);
      inTransaction(db, () => add(missing.map((entity) => ({ ...row, entity }))));
    },

    async reset(hook, segments, at) {
      return inTransaction(db, () => {
        const generation = begin();
        const about = { hook, entity: SEGMENT, at, generation, change: "reset", state: "waiting" } as const;
        add(segments.map((segment) => ({ ...about, segment, cancels: false })));
        return generation;
      });
    },

    async count(hook) {
      const counted = count.get(hook) as { waiting: number; oldest: number | null };
      return { waiting: counted.waiting, oldest: counted.oldest ?? undefined };
    },

    async keepOnly(hooks) {
      const names = JSON.stringify(hooks.map(({ name }) => name));
      while (removeOthers.run(names).changes === ROWS_PER_STEP) await yieldWhenDue();
      for (const { name, segments } of hooks.filter((hook) => !hook.segments.includes("*")))
        while (removeOtherSegments.run(name, JSON.stringify(segments)).changes === ROWS_PER_STEP) await yieldWhenDue();
    },

    erase: sharingCommits((entities: readonly EntityId[]) => erase(entities)),
    holds: async (entities) => held.get(JSON.stringify(entities)) !== undefined,
  };
}
