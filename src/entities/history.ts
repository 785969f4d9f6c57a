import type { EntityId } from "./entity.js";
import type { IdentityHash } from "./identity.js";

/** A message as the archive keeps it. Pending from `append` until `settle` or `drop`. */
export interface HistoryMessage {
  /** 32 lower-case hex characters. */
  readonly id: string;
  readonly table: string;
  readonly stream: string;
  /** The entity it is for; its key seals `sealed`. */
  readonly entity: EntityId;
  /** Every identity that the message names. Kept only while it is pending. */
  readonly hashes: readonly IdentityHash[];
  /** Event time, Unix ms. */
  readonly time: number;
  readonly arrival: number;
  readonly position: number;
  readonly sealed: Uint8Array;
}

/** PORT. The archive of messages. A kept message is the commit; applying it may be repeated until it is settled. */
export interface History {
  /**
   * Keeps the messages as pending. A pending one of the same id is replaced, a settled one stays. One for an entity that is
   * dead in the `EntityStore` may be left out: its writer learns that there. Resolves when they survive a crash.
   */
  append(messages: readonly HistoryMessage[]): Promise<void>;
  /** What is kept of these: the entity that each is for, and whether it is settled. */
  find(ids: readonly string[]): Promise<Map<string, { readonly entity: EntityId; readonly settled: boolean }>>;
  /** Pending messages that arrived before `before` and were not set aside, oldest first, at most `limit`. */
  pending(before: number, limit: number): Promise<HistoryMessage[]>;
  /** Pending messages that name any of these identities, or are for any of these entities. */
  pendingFor(hashes: readonly IdentityHash[], entities: readonly EntityId[]): Promise<HistoryMessage[]>;
  /** Settles pending messages and counts each for its stream in the slot of its event time, once however often it is called. */
  settle(ids: readonly string[]): Promise<void>;
  /** Keeps pending messages out of `pending`; to everything else they are pending as before. One that is appended again is not set aside any more. */
  setAside(ids: readonly string[]): Promise<void>;
  /** Number of messages that are set aside. */
  countAside(): Promise<number>;
  /** Removes pending messages uncounted. Safe to repeat. */
  drop(ids: readonly string[]): Promise<void>;
  /** Removes every message of these entities; what was counted stays counted. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Whether any message of these entities is kept. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
  /** Removes settled messages, and those set aside, that arrived before `before` (retention). Safe to repeat. */
  expire(before: number): Promise<void>;
}
