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

/** PORT. Segments and experiences by id; lists are in the order of the ids' UTF-8 bytes. What resolved survives a crash. */
export interface CatalogueStore {
  putSegment(segment: Segment): Promise<void>;
  segment(id: string): Promise<Segment | undefined>;
  segmentsById(ids: readonly string[]): Promise<Map<string, Segment>>;
  /** Up to `limit` segments, of this table alone if one is named, whose id comes after `after` (absent: from the first). */
  segments(after: string | undefined, limit: number, table?: string): Promise<Segment[]>;
  /** Removes the segment unless an experience names it. Its memberships stay until `endMemberships`. */
  deleteSegment(id: string): Promise<"deleted" | "absent" | "in-use">;
  /**
   * Ends every membership of deleted segments and forgets the statements about them; a commit that was planned with one of them is refused. A commit
   * that was under way when a segment was deleted may bring one more: a later call ends it, unless the segment was made again. Safe to repeat.
   */
  endMemberships(): Promise<void>;

  /** Keeps the experience unless a segment that it names is not in the catalogue; then says which. */
  putExperience(experience: Experience): Promise<{ missing: readonly ("audience" | "goal")[] }>;
  experience(id: string): Promise<Experience | undefined>;
  experiences(after: string | undefined, limit: number): Promise<Experience[]>;
  deleteExperience(id: string): Promise<boolean>;
}

/** PORT. What the catalogue asks of memberships. */
export interface SegmentMembers {
  /** Number of members of each of these segments, in the order asked. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** Entities that are members of both. */
  overlap(a: string, b: string): Promise<number>;
}
