import type { EntityId } from "./entity.js";

/** PORT. Who is in which segment, as the profiles say. Holds ids and times only, nothing personal. */
export interface MembershipIndex {
  /** Number of members of each of these segments, in the order asked. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** Profiles that are members of both. */
  overlap(a: string, b: string): Promise<number>;
  /** Forgets everything about these entities. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Whether anything is kept about any of these entities. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
}
