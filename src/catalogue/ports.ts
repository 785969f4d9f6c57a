/** A segment of the catalogue. */
export interface Segment {
  readonly id: string;
  readonly name: string;
  /** The table whose entities are its members. */
  readonly table: string;
}

/** An experience of the catalogue: who could see it, and who did what it is for. */
export interface Experience {
  readonly id: string;
  readonly name: string;
  readonly group?: string;
  /** Id of the segment that can be reached. */
  readonly audience: string;
  /** Id of the segment of the people who converted. */
  readonly goal: string;
}

/**
 * PORT. Segments and experiences by id; lists are in the order of the ids' UTF-8 bytes. What resolved survives a crash. Rejects as every store does:
 * see `ServiceErrorOf`.
 */
export interface CatalogueStore {
  /** Adds the segment, or replaces the one of its id. Safe to repeat. */
  putSegment(segment: Segment): Promise<void>;
  /** Undefined when the catalogue has no such segment. */
  segment(id: string): Promise<Segment | undefined>;
  /** The segments of these ids; unknown ones are absent. */
  segmentsById(ids: readonly string[]): Promise<Map<string, Segment>>;
  /** Up to `limit` segments, of this table alone if one is named, whose id comes after `after` (absent: from the first). */
  segments(after: string | undefined, limit: number, table?: string): Promise<Segment[]>;
  /** The ids alone of such a list of all tables, which are read faster. */
  segmentIds(after: string | undefined, limit: number): Promise<string[]>;
  /** Removes the segment unless an experience names it (`in-use`); `absent`: there is none. Its memberships stay until `endMemberships`. */
  deleteSegment(id: string): Promise<"deleted" | "absent" | "in-use">;
  /**
   * Ends every membership of deleted segments and forgets the statements about them; a commit that was planned with one of them is refused. A commit
   * that was under way when a segment was deleted may bring one more: a later call ends it, unless the segment was made again. A call that rejects
   * may have ended a part. Safe to repeat.
   */
  endMemberships(): Promise<void>;

  /** Adds or replaces the experience unless a segment that it names is not in the catalogue; then says which. Safe to repeat. */
  putExperience(experience: Experience): Promise<{ missing: readonly ("audience" | "goal")[] }>;
  /** Undefined when the catalogue has no such experience. */
  experience(id: string): Promise<Experience | undefined>;
  /** Up to `limit` experiences whose id comes after `after` (absent: from the first). */
  experiences(after: string | undefined, limit: number): Promise<Experience[]>;
  /** False when there is none. Safe to repeat. */
  deleteExperience(id: string): Promise<boolean>;
}

/** PORT. What the catalogue asks of memberships. What changes during a call may be counted or not. Rejects as `MembershipIndex` does. */
export interface SegmentMembers {
  /** Number of members of each of these segments, in the order asked; 0 of one that is not known. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** How many entities are members of both. */
  overlap(a: string, b: string): Promise<number>;
}
