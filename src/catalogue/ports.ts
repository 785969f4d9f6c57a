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
  /** Number of segments, of this table alone if one is named. */
  countSegments(table?: string): Promise<number>;
  /** The ids alone of such a list of all tables, which are read faster. */
  segmentIds(after: string | undefined, limit: number): Promise<string[]>;
  /**
   * Removes the segment at `at` (Unix ms, by `clock.arrivals`) unless an experience names it (`in-use`); `absent`: there is none. When it resolves,
   * every statement about the segment that is stored is void, and so is each later one whose event time or arrival is not after `at`: no profile has
   * it, nothing counts it, and no commit keeps it or registers the segment for it. A segment that is put or named again has only newer members.
   */
  deleteSegment(id: string, at: number): Promise<"deleted" | "absent" | "in-use">;
  /**
   * Removes void statements from the store, at most a thousand of a segment in one call, so that a stop need not wait for all of them. True when more may be left.
   * A call that rejects may have removed a part. Safe to repeat.
   */
  endMemberships(): Promise<boolean>;

  /** Adds or replaces the experience unless a segment that it names is not in the catalogue; then says which. Safe to repeat. */
  putExperience(experience: Experience): Promise<{ missing: readonly ("audience" | "goal")[] }>;
  /** Undefined when the catalogue has no such experience. */
  experience(id: string): Promise<Experience | undefined>;
  /** Up to `limit` experiences whose id comes after `after` (absent: from the first). */
  experiences(after: string | undefined, limit: number): Promise<Experience[]>;
  /** The experiences of these ids; unknown ones are absent. */
  experiencesById(ids: readonly string[]): Promise<Map<string, Experience>>;
  /** Number of experiences. */
  countExperiences(): Promise<number>;
  /** False when there is none. Safe to repeat. */
  deleteExperience(id: string): Promise<boolean>;
}

/**
 * PORT. Orders in which lists were sorted by values that change, for their later pages, shared by all processes over the same stores. An order has at
 * most 10,000 ids of 256 characters. Rejects as every store does: see `ServiceErrorOf`.
 */
export interface SharedOrders {
  /** Stores the ids under a name, which no other order has, for 11 minutes from now. Safe to repeat. */
  put(name: string, ids: readonly string[]): Promise<void>;
  /** The ids of an order; undefined when it is not stored, or no longer. Sees every `put` that resolved before the call, in every process. */
  find(name: string): Promise<readonly string[] | undefined>;
}

/** PORT. What the catalogue asks of memberships. What changes during a call may be counted or not. Rejects as `MembershipIndex` does. */
export interface SegmentMembers {
  /** Number of members of each of these segments, in the order asked; 0 of one that is not known. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** How many entities are members of both. */
  overlap(a: string, b: string): Promise<number>;
}
