import { randomInt } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Binary } from "mongodb";
import type { Binding } from "../../entities/entity.js";
import type { EntityChange } from "../../entities/entity-store.js";
import { duplicatesOf, oneOf } from "./collection.js";
import { finishJoin, isJoining, resolveJoin, unlock } from "./entity-joins.js";
import { type EntityRecord, type EntityRecords, isFresh, newToken, readHeads } from "./entity-records.js";
import { type Claim, giveBack, reserve } from "./identity-reservations.js";

/** A change on its way to its commit. */
interface Attempt extends Claim {
  readonly change: EntityChange;
  /** As it is to be kept: with all that the absorbed have. */
  readonly bindings: readonly Binding[];
  readonly absorbing: readonly string[];
}

/**
 * See `EntityStore.save`. Identities are reserved and absorbed entities locked, then one conditional write of the entity
 * commits. A process that dies before that has changed nothing that anybody reads; after it, what is left to do can be
 * done by whoever comes by.
 */
export async function saveChanges(records: EntityRecords, changes: readonly EntityChange[]): Promise<boolean[]> {
  const token = newToken();
  const attempts = await current(records, changes);
  const reserved = await reserve(records, attempts, token);
  const locked = await lock(
    records,
    attempts.filter((attempt) => reserved.has(attempt)),
    token,
  );
  const kept = await commit(records, locked, token);
  for (const { change, absorbing } of kept) {
    if (absorbing.length > 0) await finishJoin(records, change.entity.id, absorbing);
  }
  const lost = attempts.filter((attempt) => !kept.has(attempt));
  await abandon(records, lost, token);
  await readDecided(records, lost.map(({ change }) => change).filter(isNew));
  const saved = new Set([...kept].map(({ change }) => change));
  if (saved.size < changes.length) await wait(randomInt(5, 50));
  return changes.map((change) => saved.has(change));
}

/** Whether it is about one id alone, that is not stored yet: its commit is an insert, which needs no look before. */
function isNew({ entity, absorbs }: EntityChange): boolean {
  return entity.revision === 0 && absorbs.length === 0;
}

/** What is stored of the entities of these changes. What others began there and left undone is brought to its end. */
async function readDecided(
  records: EntityRecords,
  changes: readonly EntityChange[],
): Promise<ReadonlyMap<string, EntityRecord>> {
  const heads = await readHeads(records, [...new Set(changes.flatMap(idsOf))]);
  for (const [id, head] of heads) {
    if (head.absorbing?.length) await finishJoin(records, id, head.absorbing);
    if (isJoining(head) && !isFresh(head.joining, records.clock)) await resolveJoin(records, head);
  }
  return heads;
}

/** Those changes that were made from what is stored now. */
async function current(records: EntityRecords, changes: readonly EntityChange[]): Promise<Attempt[]> {
  const heads = await readDecided(
    records,
    changes.filter((change) => !isNew(change)),
  );
  const met = new Set<string>();
  const attempts: Attempt[] = [];
  for (const change of changes) {
    const { entity, absorbs, releasedBy } = change;
    const ids = idsOf(change);
    const isAlone = !ids.some((id) => met.has(id));
    for (const id of ids) met.add(id);
    if (!isAlone || ![entity, ...absorbs].every(({ id, revision }) => isAt(heads.get(id), revision))) continue;
    const listed = new Set(heads.get(entity.id)?.bindings?.map(({ hash }) => hash));
    const bindings = united(
      entity.bindings,
      absorbs.flatMap(({ id }) => heads.get(id)?.bindings ?? []),
    );
    attempts.push({
      change,
      entity: entity.id,
      bindings,
      hashes: bindings.map(({ hash }) => hash).filter((hash) => !listed.has(hash)),
      absorbed: new Set(absorbs.map(({ id }) => id)),
      absorbing: absorbs.map(({ id }) => id),
      released: new Set(releasedBy),
      reserved: [],
    });
  }
  return attempts;
}

function idsOf({ entity, absorbs }: EntityChange): string[] {
  return [entity.id, ...absorbs.map(({ id }) => id)];
}

/** Whether the entity still is as it was when this revision of it was read; 0: it is not stored. */
function isAt(head: EntityRecord | undefined, revision: number): boolean {
  if (head === undefined) return revision === 0;
  return head.state === "live" && head.joining === undefined && head.revision === revision;
}

function united(own: readonly Binding[], more: readonly Binding[]): Binding[] {
  const hashes = new Set<string>();
  return [...own, ...more].filter(({ hash }) => !hashes.has(hash) && hashes.add(hash));
}

/** Locks what is absorbed, so that nobody else writes it; hands out the attempts that got all of theirs. */
async function lock(
  { entities, clock }: EntityRecords,
  attempts: readonly Attempt[],
  token: string,
): Promise<Attempt[]> {
  const due = attempts.flatMap(({ entity, change }) =>
    change.absorbs.map((absorbed) => ({ ...absorbed, into: entity })),
  );
  if (due.length === 0) return [...attempts];
  const at = clock();
  const stored = due.filter(({ revision }) => revision > 0);
  const unborn = due.filter(({ revision }) => revision === 0);
  if (stored.length > 0) {
    await entities.bulkWrite(
      stored.map(({ id, revision, into }) => {
        const filter = { _id: id, state: "live" as const, revision, joining: { $exists: false } };
        return { updateOne: { filter, update: { $set: { joining: { into, token, at } } } } };
      }),
      { ordered: false },
    );
  }
  await insertNew(
    { entities },
    unborn.map(({ id, into }) => ({ _id: id, state: "none", revision: 0, born: at, joining: { into, token, at } })),
  );
  const ids = due.map(({ id }) => id);
  const ours = await entities.find({ _id: oneOf(ids), "joining.token": token }, { projection: { _id: 1 } }).toArray();
  const locked = new Set(ours.map(({ _id }) => _id));
  return attempts.filter(({ absorbing }) => absorbing.every((id) => locked.has(id)));
}

/** The one write of each attempt that everything depends on; hands out those for which it was done. */
async function commit({ entities }: EntityRecords, attempts: readonly Attempt[], token: string): Promise<Set<Attempt>> {
  const fresh = attempts.filter(({ change }) => change.entity.revision === 0);
  const stored = attempts.filter(({ change }) => change.entity.revision > 0);
  let done = await insertNew(
    { entities },
    fresh.map((attempt) => ({ _id: attempt.entity, ...contentOf(attempt, token) })),
  );
  if (stored.length > 0) {
    const { matchedCount } = await entities.bulkWrite(
      stored.map((attempt) => {
        const { id, revision } = attempt.change.entity;
        const filter = { _id: id, state: "live" as const, revision, joining: { $exists: false } };
        return { updateOne: { filter, update: { $set: contentOf(attempt, token) } } };
      }),
      { ordered: false },
    );
    done += matchedCount;
  }
  if (done === attempts.length) return new Set(attempts);
  const ids = attempts.map(({ entity }) => entity);
  const ours = await entities.find({ _id: oneOf(ids), save: token }, { projection: { _id: 1 } }).toArray();
  const kept = new Set(ours.map(({ _id }) => _id));
  return new Set(attempts.filter(({ entity }) => kept.has(entity)));
}

function contentOf({ change, bindings, absorbing }: Attempt, token: string) {
  const { table, revision, born, joined, sealed } = change.entity;
  return {
    state: "live" as const,
    revision: revision + 1,
    table,
    born,
    bindings,
    joined: [...new Set([...joined, ...absorbing])],
    sealed: new Binary(sealed),
    save: token,
    ...(absorbing.length > 0 && { absorbing }),
  };
}

/** Inserts those that are not there, and hands out how many. */
async function insertNew({ entities }: Pick<EntityRecords, "entities">, documents: EntityRecord[]): Promise<number> {
  if (documents.length === 0) return 0;
  try {
    await entities.insertMany(documents, { ordered: false });
    return documents.length;
  } catch (error) {
    return documents.length - duplicatesOf(error).size;
  }
}

/** Undoes what was done for attempts that were not committed, or were and somebody else has written the entity since. */
async function abandon(records: EntityRecords, lost: readonly Attempt[], token: string): Promise<void> {
  await giveBack(records, lost, token);
  const joins = lost.filter(({ absorbing }) => absorbing.length > 0);
  if (joins.length === 0) return;
  const heads = await readHeads(
    records,
    joins.map(({ entity }) => entity),
  );
  for (const { entity, absorbing } of joins) {
    const joined = new Set(heads.get(entity)?.joined);
    const done = absorbing.filter((id) => joined.has(id));
    if (done.length > 0) await finishJoin(records, entity, done);
    else await unlock(records, absorbing, token);
  }
}
