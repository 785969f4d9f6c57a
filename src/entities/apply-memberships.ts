import { pacer } from "../clock.js";
import type { Component } from "./component.js";
import type { EntityId } from "./entity.js";
import type { EntityStore } from "./entity-store.js";
import type { MembershipChange, MembershipIndex } from "./membership-index.js";
import type { PlannedMessage } from "./plan-batch.js";
import type { SegmentNames } from "./segment-names.js";

export interface MembershipParts {
  readonly entities: EntityStore;
  readonly memberships: MembershipIndex;
  readonly segments: SegmentNames;
}

/** Most ids that the catalogue is told of in one step. */
const REGISTERED_AT_ONCE = 1_000;

/**
 * Brings what saved messages say of segments into the index, in the order of the plan: a statement is about the entity
 * that its message was for, and what is said before a join is said of one side of it alone. Safe to repeat; `again` says
 * that an earlier attempt may have ended half-way.
 */
export async function applyMemberships(
  { entities, memberships, segments }: MembershipParts,
  messages: readonly PlannedMessage[],
  groups: readonly Component[],
  again: boolean,
): Promise<void> {
  const pace = pacer();
  for (const [table, ids] of segmentsByTable(messages)) {
    const all = [...ids];
    for (let from = 0; from < all.length; from += REGISTERED_AT_ONCE) {
      await segments.register(all.slice(from, from + REGISTERED_AT_ONCE), table);
      await pace();
    }
  }

  const rounds = new Rounds();
  if (again) repeatJoins(rounds, messages, groups);
  for (const { message, entity, at, joins } of messages) {
    for (const other of joins) rounds.join(other, at.id, at.root);
    const { segments: said } = message.message;
    if (said !== undefined)
      rounds.apply({ entity, stamp: message.stamp, ...said, isFirst: !again && at.isNew }, at.root);
    if (entity !== at.id) rounds.join(entity, at.id, at.root);
  }
  for (const { changes, joins } of rounds.inOrder()) {
    await memberships.apply(changes);
    for (const { from, into } of joins) await memberships.join(from, into);
  }
  await followJoins(entities, memberships, rounds.touched());
}

/** Joins whose saving was the last thing that an earlier attempt did; ids with messages of their own get their turn with these. */
function repeatJoins(rounds: Rounds, messages: readonly PlannedMessage[], groups: readonly Component[]): void {
  const named = new Set(messages.map(({ entity }) => entity));
  for (const group of groups) {
    for (const component of [...group.absorbed, group]) {
      for (const id of component.joinedBefore) if (!named.has(id)) rounds.join(id, component.id, group);
    }
  }
}

function segmentsByTable(messages: readonly PlannedMessage[]): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  for (const { message } of messages) {
    const added = message.message.segments?.add ?? [];
    if (added.length === 0) continue;
    const ids = tables.get(message.table) ?? new Set();
    for (const id of added) ids.add(id);
    tables.set(message.table, ids);
  }
  return tables;
}

interface Round {
  readonly changes: MembershipChange[];
  readonly joins: { readonly from: EntityId; readonly into: EntityId }[];
}

/** Statements and joins of many groups in as few steps as keep the order within each group. */
class Rounds {
  readonly #rounds: Round[] = [];
  /** The round that a group is in. */
  readonly #at = new Map<Component, number>();

  apply(change: MembershipChange, group: Component): void {
    const at = this.#at.get(group) ?? 0;
    const round = this.#round(at);
    if (round.joins.some(({ into, from }) => into === change.entity || from === change.entity)) {
      this.#at.set(group, at + 1);
      this.#round(at + 1).changes.push(change);
    } else {
      this.#at.set(group, at);
      round.changes.push(change);
    }
  }

  join(from: EntityId, into: EntityId, group: Component): void {
    const at = this.#at.get(group) ?? 0;
    this.#at.set(group, at);
    this.#round(at).joins.push({ from, into });
  }

  inOrder(): readonly Round[] {
    return this.#rounds;
  }

  /** Entities about which something was said or joined. */
  touched(): EntityId[] {
    return [...new Set([...this.#at.keys()].map(({ id }) => id))];
  }

  #round(index: number): Round {
    while (this.#rounds.length <= index) this.#rounds.push({ changes: [], joins: [] });
    return this.#rounds[index] as Round;
  }
}

/** An entity that somebody else joined into another meanwhile takes what was just said of it along. */
async function followJoins(
  entities: EntityStore,
  memberships: MembershipIndex,
  ids: readonly EntityId[],
): Promise<void> {
  let next = ids;
  while (next.length > 0) {
    const states = await entities.load(next);
    next = [];
    for (const [id, state] of states) {
      if (state.state !== "joined") continue;
      await memberships.join(id, state.into);
      next = [...next, state.into];
    }
  }
}
