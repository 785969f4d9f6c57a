import type { StreamFacts } from "./stream-facts.js";

/** Profile as rules read it. Times are whole Unix ms. */
export interface RuleProfile {
  /** Arrival of its first message; after a merge the earliest. */
  readonly createdAt: number;
  /** Newest event time over all streams; undefined without a message. */
  readonly seenAt: number | undefined;
  /**
   * Returns the value of an attribute, as parsed JSON, or the values of an identity field: a text, or a list of texts.
   * Undefined or null if it is absent.
   */
  attribute(name: string): unknown;
  /** Returns the facts about a stream; undefined without a message. */
  stream(name: string): StreamFacts | undefined;
  /** Returns whether the profile is stored as a member of a segment. */
  isMember(segment: string): boolean;
}
