import { setTimeout as sleep } from "node:timers/promises";
import { pacer } from "../clock.js";
import { ServiceError } from "../errors.js";
import { applyMemberships, type MembershipParts } from "./apply-memberships.js";
import type { BatchMessage } from "./batch-message.js";
import type { Component } from "./component.js";
import type { EntityId, StoredEntity } from "./entity.js";
import { decodeDocument, encodeDocument, type OpenedDocument } from "./entity-document.js";
import type { EntityKeys } from "./entity-keys.js";
import type { EntityStore } from "./entity-store.js";
import { eraseUnreadable } from "./erase-unreadable.js";
import { type EntitySources, type FoundEntities, findEntities } from "./find-entities.js";
import type { History } from "./history.js";
import { keptSegments } from "./kept-segments.js";
import { KnownKeys } from "./known-keys.js";
import type { PlanLimits } from "./limit-check.js";
import { encodeMessage } from "./message.js";
import { type BatchPlan, type PlannedMessage, planBatch } from "./plan-batch.js";
import { KeyGone, type Sealing, sealing } from "./sealed.js";

export interface BatchParts extends EntitySources, MembershipParts {
  readonly history: History;
  readonly entityKeys: EntityKeys;
  /** A new random entity id. */
  newId(): EntityId;
}

/** Each attempt but the first two needs somebody who wrote to the same entity in that very moment. */
const ATTEMPTS = 40;

/** How soon an identity is looked at again that an erasure is about to take from its holder, ms. */
const ABOUT_TO_BE_ERASED_MS = 25;

/**
 * Brings messages into the history and from there into the profiles, the index and the counts. All of it is done when it
 * resolves, or is left pending when it rejects. What must not come back is dropped; resolves with those over a limit, which
 * were not kept. `again`: an earlier attempt at these messages may have ended half-way.
 *
 * The append to the history is the commit. Only a pass that had nothing to append saves: it has loaded everything, and
 * asked the ledger, after the append, so that whoever accepts a deletion either is seen here or sees the pending message
 * and fences its entity off. So whoever takes a pending message from its entity fences that one off as well: its writer may
 * have asked before, and still be about to save.
 */
export async function applyBatch(
  parts: BatchParts,
  batch: readonly BatchMessage[],
  limits: PlanLimits,
  again: boolean,
): Promise<BatchPlan["refused"]> {
  const keys = new KnownKeys(parts.entityKeys);
  const seals = sealing(keys);
  const documents = new OpenDocuments(seals);
  const refused: BatchPlan["refused"][number][] = [];
  let left = batch;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = await findEntities(parts, hashesOf(left), entitiesOf(left));
    left = await withoutSuppressed(parts, left, found);
    if (left.length === 0) return refused;
    if (hashesOf(left).some(found.isAboutToBeErased)) {
      await sleep(ABOUT_TO_BE_ERASED_MS);
      continue;
    }
    const opened = await documents.of(found.live);
    const unreadable = found.live.filter(({ id }) => !opened.has(id));
    if (unreadable.length > 0) {
      await eraseUnreadable(parts, unreadable);
      continue;
    }
    const segments = await keptSegments(parts.memberships, left, found.live);
    const plan = await planBatch(left, { found, documents: opened, segments, limits, newId: parts.newId });
    refused.push(...plan.refused);
    await keys.create(plan.newIds);
    try {
      if (await append(parts, seals, plan.messages)) {
        left = plan.messages.map(({ message, entity }) => ({ ...message, entity }));
        continue;
      }
      const saved = await save(parts.entities, seals, plan.groups);
      const done = plan.messages.filter(({ at }) => saved.has(at.root));
      if (done.length > 0) {
        await applyMemberships(parts, done, [...saved], again);
        await parts.history.settle(done.map(({ message }) => message.id));
      }
      left = plan.messages.filter(({ at }) => !saved.has(at.root)).map(({ message }) => message);
      if (left.length === 0) return refused;
    } catch (error) {
      if (!(error instanceof KeyGone)) throw error;
      left = plan.messages.map(({ message }) => message);
    }
  }
  throw new ServiceError("unavailable", "Too much is written to the same entities at once");
}

/** Those of the messages that `applyBatch` would refuse now. Nothing is kept, and nothing changes. */
export async function checkBatch(
  parts: BatchParts,
  batch: readonly BatchMessage[],
  limits: PlanLimits,
): Promise<BatchPlan["refused"]> {
  const found = await findEntities(parts, hashesOf(batch), []);
  const documents = await new OpenDocuments(sealing(parts.entityKeys)).of(found.live);
  const segments = await keptSegments(parts.memberships, batch, found.live);
  const left = batch.filter((message) => !isSuppressed(message, found));
  return (await planBatch(left, { found, documents, segments, limits, newId: parts.newId })).refused;
}

function hashesOf(batch: readonly BatchMessage[]): string[] {
  return [...new Set(batch.flatMap(({ hashes }) => hashes))];
}

function entitiesOf(batch: readonly BatchMessage[]): EntityId[] {
  return [...new Set(batch.flatMap(({ entity }) => entity ?? []))];
}

/** Leaves out, and takes from the history, messages that are not newer than an erasure of one of their identities. */
async function withoutSuppressed(
  parts: BatchParts,
  batch: readonly BatchMessage[],
  found: FoundEntities,
): Promise<readonly BatchMessage[]> {
  const suppressed = batch.filter((message) => isSuppressed(message, found));
  if (suppressed.length === 0) return batch;
  const kept = suppressed.filter(({ entity }) => entity !== undefined);
  if (kept.length > 0) await leave(parts, entitiesOf(kept), () => parts.history.drop(kept.map(({ id }) => id)));
  const gone = new Set(suppressed);
  return batch.filter((message) => !gone.has(message));
}

function isSuppressed({ hashes, stamp }: BatchMessage, found: FoundEntities): boolean {
  return hashes.some((hash) => stamp.time <= (found.cutOffOf(hash) ?? Number.NEGATIVE_INFINITY));
}

/** Keeps the messages that the history does not hold yet under the entity that they are for; false: it holds all of them. */
async function append(parts: BatchParts, seals: Sealing, messages: readonly PlannedMessage[]): Promise<boolean> {
  const moved = messages.filter(({ message, entity }) => message.entity !== entity);
  if (moved.length === 0) return false;
  const sealed = await seals.seal(
    moved.map(({ message, entity }) => ({ entity, plain: encodeMessage(message.message) })),
  );
  const kept = moved.map(({ message: { id, table, stream, hashes, stamp }, entity }, index) => {
    return { id, table, stream, entity, hashes, ...stamp, sealed: sealed[index] as Uint8Array };
  });
  await leave(parts, entitiesOf(moved.map(({ message }) => message)), () => parts.history.append(kept));
  return true;
}

/**
 * Takes pending messages from these entities. Before, every save that was prepared for one of them is made to fail; after,
 * the key goes of those that were never saved and have no other message, pending or settled: what was sealed under it must
 * not outlive an erasure that does not know of it.
 */
async function leave(
  { entities, history, entityKeys }: BatchParts,
  ids: readonly EntityId[],
  take: () => Promise<void>,
): Promise<void> {
  if (ids.length > 0) await entities.fence(ids);
  await take();
  if (ids.length === 0) return;
  const states = await entities.load(ids);
  for (const id of ids.filter((one) => states.get(one)?.state === "dead")) {
    // Nothing that was acknowledged waits for it: a store that cannot do it now fails no request.
    if (!(await history.holds([id]))) await entityKeys.destroy([id]).catch(() => {});
  }
}

/** Those of the entities that could be saved. */
async function save(entities: EntityStore, seals: Sealing, groups: readonly Component[]): Promise<Set<Component>> {
  const pace = pacer();
  const plain: { entity: EntityId; plain: Uint8Array }[] = [];
  for (const { id, document } of groups) {
    plain.push({ entity: id, plain: encodeDocument(document) });
    await pace();
  }
  const sealed = await seals.seal(plain);
  const saved = await entities.save(
    groups.map((group, index) => {
      const { id, table, revision, born, bindings, joined } = group;
      return {
        entity: { id, table, revision, born, bindings, joined, sealed: sealed[index] as Uint8Array },
        absorbs: group.absorbed.map((other) => ({ id: other.id, revision: other.revision })),
        releasedBy: group.released,
      };
    }),
  );
  return new Set(groups.filter((_, index) => saved[index]));
}

/** Opened documents; one is opened again only when its entity was saved meanwhile. */
class OpenDocuments {
  readonly #seals: Sealing;
  readonly #opened = new Map<EntityId, { readonly revision: number; readonly opened: OpenedDocument }>();

  constructor(seals: Sealing) {
    this.#seals = seals;
  }

  async of(entities: readonly StoredEntity[]): Promise<Map<EntityId, OpenedDocument>> {
    const stale = entities.filter(({ id, revision }) => this.#opened.get(id)?.revision !== revision);
    const plain = await this.#seals.open(stale.map(({ id, sealed }) => ({ entity: id, sealed })));
    const pace = pacer();
    for (const [index, { id, revision }] of stale.entries()) {
      const bytes = plain[index];
      if (bytes === undefined) continue;
      const opened = { document: decodeDocument(bytes), bytes: bytes.length };
      this.#opened.set(id, { revision, opened });
      await pace();
    }
    return new Map(Array.from(this.#opened, ([id, { opened }]) => [id, opened]));
  }
}
