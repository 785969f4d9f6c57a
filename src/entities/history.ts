import type { EntityId } from "./entity.js";

/** A message as the archive keeps it. */
export interface HistoryMessage {
  /** 32 lower-case hex characters. */
  readonly id: string;
  readonly table: string;
  readonly stream: string;
  /** The entity it is for; its key seals `sealed`. */
  readonly entity: EntityId;
  /** Event time, Unix ms. */
  readonly time: number;
  readonly arrival: number;
  readonly position: number;
  readonly sealed: Uint8Array;
}

/** PORT. The archive of messages. `EntityStore.commit` adds to it. What was counted for a stream stays counted. */
export interface History {
  /** Which of these messages are kept, or were until they were erased or expired. */
  kept(ids: readonly string[]): Promise<Set<string>>;
  /** Removes every message of these entities. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Whether any message of these entities is kept. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
  /** Removes messages that arrived before `before` (retention). Safe to repeat. */
  expire(before: number): Promise<void>;
}
