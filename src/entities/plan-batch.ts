import { pacer } from "../clock.js";
import type { BatchMessage } from "./batch-message.js";
import { Component } from "./component.js";
import type { EntityId, StoredEntity } from "./entity.js";
import type { OpenedDocument } from "./entity-document.js";
import type { FoundEntities } from "./find-entities.js";
import type { IdentityHash } from "./identity.js";
import { LimitCheck, type LimitReason, type PlanLimits, type SegmentsKept } from "./limit-check.js";
import { documentOf } from "./message.js";

/** What a batch comes to: who each message is for, and what becomes of the entities. */
export interface BatchPlan {
  /** In order, those over a limit left out. `entity` is the one that the message is for when its turn comes. */
  readonly messages: readonly PlannedMessage[];
  /** Entities as they end up, with all that was joined into them. */
  readonly groups: readonly Component[];
  /** Ids that need a key. */
  readonly newIds: readonly EntityId[];
  readonly refused: readonly { readonly message: BatchMessage; readonly reason: LimitReason }[];
}

export interface PlannedMessage {
  readonly message: BatchMessage;
  readonly entity: EntityId;
  /** Where `entity` stands when the message's turn comes: itself, or what it was joined into before. */
  readonly at: Component;
  /** Ids that this message joins into it. */
  readonly joins: readonly EntityId[];
}

/** What a plan is made from. */
export interface PlanInput {
  readonly found: FoundEntities;
  /** The opened documents of the entities found, by id. */
  readonly documents: ReadonlyMap<EntityId, OpenedDocument>;
  readonly segments: SegmentsKept;
  /** Checked for messages that the history does not keep yet. */
  readonly limits: PlanLimits;
  newId(): EntityId;
}

/**
 * Walks through the messages in order. One that names identities of several entities joins them into the oldest. A message
 * that was planned before goes where it went then, as far as that still stands.
 */
export async function planBatch(batch: readonly BatchMessage[], input: PlanInput): Promise<BatchPlan> {
  const { found, documents, limits, newId } = input;
  const pace = pacer();
  const check = new LimitCheck(limits, input.segments);
  const components = new Map<EntityId, Component>();
  const owners = new Map<IdentityHash, Component>();
  const newIds: EntityId[] = [];
  const messages: PlannedMessage[] = [];
  const refused: { message: BatchMessage; reason: LimitReason }[] = [];

  function componentOf(entity: StoredEntity): Component {
    const known = components.get(entity.id);
    if (known !== undefined) return known.root;
    const document = documents.get(entity.id);
    const component = Component.stored(entity, document);
    components.set(entity.id, component);
    return component;
  }

  function ownersOf(hashes: readonly IdentityHash[]): Component[] {
    const named = new Set<Component>();
    for (const hash of hashes) {
      const stored = found.ownerOf(hash);
      const component = owners.get(hash)?.root ?? (stored && componentOf(stored));
      if (component !== undefined) named.add(component);
    }
    return [...named].sort(byAge);
  }

  function start({ entity, table, stamp }: BatchMessage): Component {
    const keep = entity !== undefined && found.isFresh(entity) && !components.has(entity);
    const id = keep ? entity : newId();
    if (!keep) newIds.push(id);
    const component = Component.fresh(id, table, stamp.arrival, components.size);
    components.set(id, component);
    return component;
  }

  for (const message of batch) {
    await pace();
    const named = ownersOf(message.hashes);
    const document = documentOf(message.message, message.stamp);
    if (message.entity === undefined) {
      const reason = await check.reached(named, message.message, document);
      if (reason !== undefined) {
        refused.push({ message, reason });
        continue;
      }
    }
    const at = named[0] ?? start(message);
    const others = named.slice(1);
    for (const other of others) at.absorb(other);
    const joins = others.map(({ id }) => id);
    at.take(message, document, found);
    for (const hash of message.hashes) owners.set(hash, at);
    const before = message.entity === undefined ? undefined : found.entityOf(message.entity);
    const stays = before !== undefined && componentOf(before) === at;
    messages.push({ message, entity: stays ? (message.entity as EntityId) : at.id, at, joins });
  }
  const groups = new Set(messages.map(({ at }) => at.root));
  return { messages, groups: [...groups], newIds, refused };
}

function byAge(a: Component, b: Component): number {
  return a.born - b.born || a.order - b.order || (a.id < b.id ? -1 : 1);
}
