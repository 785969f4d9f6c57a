import type { EntityId } from "../entities/entity.js";
import type { Identity } from "../entities/identity.js";

/** Who is to be erased. */
export interface ErasureSubject {
  readonly requestId: string;
  readonly table: string;
  readonly entities: readonly EntityId[];
  /** As written; for targets outside only. */
  readonly identities: readonly Identity[];
  /** Unix ms. */
  readonly cutOff: number;
}

/** PORT. A place that holds data about entities besides the live profile. */
export interface DownstreamTarget {
  readonly name: string;
  /** A target of our own is tried again at most 30 s apart, a remote one at most 15 min. */
  readonly remote: boolean;
  /** Removes everything about the subject. Safe to repeat; rejects when it is not certain. */
  erase(subject: ErasureSubject): Promise<void>;
  /** Looks again: true when nothing is there. Rejects when it cannot tell. */
  verify(subject: ErasureSubject): Promise<boolean>;
}
