import type { EntityId, Stamp } from "./entity.js";

/** What one message says of an entity's segments: those it joined and left, or the full list. */
export interface MembershipChange {
  readonly entity: EntityId;
  readonly stamp: Stamp;
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** `add` is the full list: every membership with an older stamp ends, and older statements only say that it has ended. */
  readonly full: boolean;
  /** A hint: the entity was only just made, so that nothing is known of it yet, most likely. */
  readonly isFirst?: boolean;
}

/** PORT. Which entity is in which segment. Holds ids and times only, nothing personal. */
export interface MembershipIndex {
  /** Applies the changes, in any order with the same result: the newest statement for each (entity, segment) stands. Statements about a dead entity are dropped. Safe to repeat. */
  apply(changes: readonly MembershipChange[]): Promise<void>;
  /** Unites the statements about `from` with those about `into`, newest for each segment; `from` has none afterwards. Safe to repeat. */
  join(from: EntityId, into: EntityId): Promise<void>;
  /** Ids of the segments the entity is in, in code unit order. */
  segmentsOf(entity: EntityId): Promise<string[]>;
  /** How many segments a statement is kept of for each of these entities, removed ones counted; entities without are absent. */
  counts(entities: readonly EntityId[]): Promise<Map<EntityId, number>>;
  /** The segments that a statement is kept of for any of these entities, removed ones too. */
  mentioned(entities: readonly EntityId[]): Promise<Set<string>>;
  /** Number of members of each of these segments, in the order asked. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** Entities that are members of both. */
  overlap(a: string, b: string): Promise<number>;
  /** Ends every membership of a segment and forgets the statements about it. */
  removeSegment(segment: string): Promise<void>;
  /** Forgets everything about these entities. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Whether anything is kept about any of these entities. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
}
