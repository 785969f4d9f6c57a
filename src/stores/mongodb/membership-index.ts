import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type AnyBulkWriteOperation, type Collection, type Db, MongoBulkWriteError } from "mongodb";
import { pacer } from "../../clock.js";
import type { EntityId } from "../../entities/entity.js";
import type { MembershipChange, MembershipIndex } from "../../entities/membership-index.js";
import { ServiceError } from "../../errors.js";
import { type CollectionPlan, findByIds, isDuplicate, oneOf } from "./collection.js";
import { sizesOf } from "./membership-counts.js";
import {
  applyChange,
  forgetSegment,
  type MembershipDocument,
  membershipDocument,
  type Statements,
  statementsOf,
  unite,
} from "./membership-statements.js";

export const membershipCollections: readonly CollectionPlan[] = [
  { name: "memberships", indexes: [{ key: { in: 1 } }, { key: { out: 1 } }] },
];

/** Entities from which a segment is removed in one write. */
const PAGE = 200;

/** Times that a change is tried while others change the same entities. */
const TRIES = 40;
const LONGEST_PAUSE_MS = 100;

/**
 * Memberships, one document an entity, each write on condition that its document is as it was read. Of an erased entity a
 * mark stays, on which the write of somebody who read before the erasure fails.
 */
export function mongoMembershipIndex(db: Db): MembershipIndex {
  const memberships = db.collection<MembershipDocument>("memberships");
  const entities = db.collection<{ readonly _id: EntityId; readonly state: string }>("entities");

  async function read(ids: readonly EntityId[]): Promise<Map<EntityId, MembershipDocument>> {
    const found = await findByIds(memberships, ids);
    return new Map(found.map((document) => [document._id, document]));
  }

  /** Those that are dead in the entity store, which knows it before the memberships are erased. */
  async function deadOf(ids: readonly EntityId[]): Promise<Set<EntityId>> {
    const found = await findByIds(entities, ids, { projection: { state: 1 } });
    return new Set(found.filter(({ state }) => state === "dead").map(({ _id }) => _id));
  }

  /**
   * One attempt; whether nothing is left to do. What was written by an attempt that failed changes nothing in the next. The
   * first one takes hints: an insert is refused where anything is kept, be it only that the entity is dead.
   */
  async function applyOnce(
    changes: ReadonlyMap<EntityId, readonly MembershipChange[]>,
    attempt: number,
  ): Promise<boolean> {
    const isHinted = (said: readonly MembershipChange[]) => attempt === 1 && said.every(({ isFirst }) => isFirst);
    const ids = [...changes].flatMap(([id, said]) => (isHinted(said) ? [] : [id]));
    const [kept, dead] = await Promise.all([read(ids), deadOf(ids)]);
    const next: Change[] = [];
    const pace = pacer();
    for (const [id, said] of changes) {
      const from = kept.get(id);
      if (from?.dead === true || dead.has(id)) continue;
      const statements = statementsOf(from);
      let changed = false;
      for (const change of said) {
        changed = applyChange(statements, change) || changed;
        await pace();
      }
      if (changed) next.push({ id, from, statements });
    }
    return keep(memberships, next);
  }

  async function joinOnce(from: EntityId, into: EntityId): Promise<boolean> {
    const [kept, dead] = await Promise.all([read([from, into]), deadOf([into])]);
    const source = kept.get(from);
    if (source === undefined || source.dead === true || from === into) return true;
    const target = kept.get(into);
    if (target?.dead !== true && !dead.has(into)) {
      const statements = statementsOf(target);
      const changed = unite(statements, statementsOf(source));
      if (changed && !(await keep(memberships, [{ id: into, from: target, statements }]))) return false;
    }
    const { deletedCount } = await memberships.deleteOne({ _id: from, ...revisionOf(source) });
    return deletedCount === 1;
  }

  async function removeOnce(field: "in" | "out", segment: string): Promise<boolean> {
    const page = await memberships
      .find({ [field]: segment })
      .limit(PAGE)
      .toArray();
    const changes = page.map((from) => ({ id: from._id, from, statements: statementsOf(from) }));
    for (const { statements } of changes) forgetSegment(statements, segment);
    await keep(memberships, changes);
    return page.length === 0;
  }

  return {
    async apply(changes) {
      if (changes.length === 0) return;
      const byEntity = new Map<EntityId, MembershipChange[]>();
      for (const change of changes) {
        const said = byEntity.get(change.entity);
        if (said === undefined) byEntity.set(change.entity, [change]);
        else said.push(change);
      }
      await untilDone((attempt) => applyOnce(byEntity, attempt));
    },

    join: (from, into) => untilDone(() => joinOnce(from, into)),

    async counts(ids) {
      const size = (field: string) => ({ $size: { $ifNull: [field, []] } });
      const found = await memberships
        .aggregate<{ _id: EntityId; segments: number }>([
          { $match: { _id: oneOf(ids) } },
          { $project: { segments: { $add: [size("$in"), size("$out")] } } },
        ])
        .toArray();
      return new Map(found.filter(({ segments }) => segments > 0).map(({ _id, segments }) => [_id, segments]));
    },

    async mentioned(ids) {
      const found = await findByIds(memberships, ids, { projection: { in: 1, out: 1 } });
      return new Set(found.flatMap((document) => [...(document.in ?? []), ...(document.out ?? [])]));
    },

    async segmentsOf(entity) {
      const found = await memberships.findOne({ _id: entity }, { projection: { in: 1 } });
      return [...(found?.in ?? [])].sort();
    },

    sizes: (segments) => sizesOf(memberships, segments),

    overlap: (a, b) => memberships.countDocuments({ in: { $all: [a, b] } }),

    async removeSegment(segment) {
      for (const field of ["in", "out"] as const) while (!(await removeOnce(field, segment)));
    },

    async erase(ids) {
      if (ids.length === 0) return;
      const marks = ids.map((_id) => ({
        replaceOne: { filter: { _id }, replacement: { dead: true } as MembershipDocument, upsert: true },
      }));
      // A writer may make the document in the very moment in which its absence was seen.
      const mark = () => memberships.bulkWrite(marks, { ordered: false }).then(() => true);
      await untilDone(() => mark().catch(refusedAsDuplicate));
    },

    async holds(ids) {
      if (ids.length === 0) return false;
      const found = await findByIds(memberships, ids, { projection: { dead: 1 } });
      return found.some(({ dead }) => dead !== true);
    },
  };
}

/** What is to be kept of an entity, made from what was read. */
interface Change {
  readonly id: EntityId;
  readonly from: MembershipDocument | undefined;
  readonly statements: Statements;
}

/** Writes those whose document is as it was read; whether that were all. */
async function keep(memberships: Collection<MembershipDocument>, changes: readonly Change[]): Promise<boolean> {
  if (changes.length === 0) return true;
  const revision = randomBytes(12).toString("hex");
  const writes = changes.map(({ id, from, statements }): AnyBulkWriteOperation<MembershipDocument> => {
    const document = membershipDocument(id, statements, revision);
    if (from === undefined) return { insertOne: { document } };
    const { _id, ...replacement } = document;
    return { replaceOne: { filter: { _id, ...revisionOf(from) }, replacement } };
  });
  try {
    const { insertedCount, matchedCount } = await memberships.bulkWrite(writes, { ordered: false });
    return insertedCount + matchedCount === changes.length;
  } catch (error) {
    return refusedAsDuplicate(error);
  }
}

/** Condition that a document is as it was read. */
function revisionOf({ revision }: MembershipDocument): { revision: string } {
  return { revision: revision ?? "" };
}

function refusedAsDuplicate(error: unknown): false {
  if (!(error instanceof MongoBulkWriteError) || !isDuplicate(error)) throw error;
  return false;
}

/** Repeats an attempt at what others change at the same time, after pauses of chance length, so that one of them gets through. */
async function untilDone(attempt: (tries: number) => Promise<boolean>): Promise<void> {
  for (let tries = 1; !(await attempt(tries)); tries += 1) {
    if (tries === TRIES) {
      throw new ServiceError("unavailable", "Too many writers change the same entities; try again", { retryAfter: 1 });
    }
    await sleep(Math.random() * Math.min(2 ** tries, LONGEST_PAUSE_MS));
  }
}
