import { randomId } from "../ids.js";

/** A segment of the catalogue. */
export interface Segment {
  readonly id: string;
  readonly name: string;
  /** The table whose entities are its members. */
  readonly table: string;
  /** Its rule; absent: it is pushed, so messages decide who is in it. The kind of a segment never changes. */
  readonly byRule?: SegmentRule;
}

/** The rule of a segment. */
export interface SegmentRule {
  /** The rule in normal form: equal rules have equal JSON. */
  readonly rule: object;
  /** Ids of the segments that the rule names. */
  readonly names: readonly string[];
  /** Generation that the last change of the rule began; see `SegmentDeletions`. */
  readonly change: number;
  /** Present until every profile has the decision of this rule. */
  readonly computing?: Computing;
}

/** Progress of deciding every profile by a rule that has changed. */
export interface Computing {
  /** When the rule changed, Unix ms. */
  readonly since: number;
  /** Place of the walk over the profiles when it began to decide by this rule; absent: it has not begun. */
  readonly start?: WalkPlace;
}

/** A place of the walk over the profiles of a table, which begins again after its last profile. */
export interface WalkPlace {
  readonly lap: number;
  /** The last profile that was decided; empty at the start of a lap. */
  readonly after: string;
  /** Profiles decided in all laps. */
  readonly passed: number;
}

/** The segments by rule of all tables. */
export interface SegmentRules {
  /** See `SegmentDeletions.newest`: a commit that is planned with these rules compares it. */
  readonly generation: number;
  readonly segments: readonly RuledSegment[];
}

export type RuledSegment = Segment & { readonly byRule: SegmentRule };

export function isByRule(segment: Segment): segment is RuledSegment {
  return segment.byRule !== undefined;
}

/** An experience of the catalogue: its audience and its goal. */
export interface Experience {
  readonly id: string;
  readonly name: string;
  readonly group?: string;
  /** Id of the segment of the people who can be reached. */
  readonly audience: string;
  /** Id of the segment of the people who converted. */
  readonly goal: string;
}

/**
 * PORT. Segments and experiences by id; lists are in the order of the ids' UTF-8 bytes. Resolved writes survive a
 * crash. Rejects as every store does: see `ToServiceError`.
 */
export interface CatalogueStore {
  /** Adds the pushed segment, or replaces the one with its id. Refuses if that one is by rule. Safe to repeat. */
  putSegment(segment: Segment): Promise<"stored" | "by-rule">;
  /**
   * Adds the segment by rule, or replaces the one with its id, unless the newest generation is no longer `generation`
   * (`outdated`) or the segment with its id is of another kind or table. A rule that differs from the stored one raises
   * the generation, is computing since `at` (Unix ms), and makes the mark of `ruleMark` in the same commit, unless
   * there are `MAX_MARKS`; no commit that was planned with an earlier generation is accepted afterwards. Safe to
   * repeat.
   */
  putRule(
    segment: Pick<Segment, "id" | "name" | "table"> & Pick<SegmentRule, "rule" | "names">,
    generation: number,
    at: number,
  ): Promise<"stored" | "outdated" | "pushed" | "other-table">;
  /** Returns all segments by rule. They are at least as new as the returned generation. */
  rules(): Promise<SegmentRules>;
  /**
   * Stores the progress of a segment by rule; undefined: it is complete. Resolves with whether it did: it has no effect
   * unless the last change of the rule and its progress are the ones of `before`.
   */
  setComputing(
    id: string,
    before: Pick<SegmentRule, "change" | "computing">,
    computing: Computing | undefined,
  ): Promise<boolean>;
  /** Returns the segments of these ids; unknown ones are absent. */
  segmentsById(ids: readonly string[]): Promise<Map<string, Segment>>;
  /** Returns up to `limit` segments, optionally of one table, with ids after `after` (absent: from the first). */
  segments(after: string | undefined, limit: number, table?: string): Promise<Segment[]>;
  /** Number of segments, optionally of one table. */
  countSegments(table?: string): Promise<number>;
  /** Like `segments` over all tables, but only the ids, which is faster. */
  segmentIds(after: string | undefined, limit: number): Promise<string[]>;
  /**
   * Removes the segment at `at` (Unix ms) unless experiences or rules name it, of which it returns up to ten each;
   * `absent`: there is none. Once it resolves, every update of the segment that was stored before is void: no profile
   * has it and nothing counts it. A segment that is put or named again has only the members that are stored later.
   */
  deleteSegment(id: string, at: number): Promise<"deleted" | "absent" | SegmentUsers>;
  /**
   * Removes void updates from the store, at most a thousand of a segment per call, so that a stop need not wait for
   * all of them. Returns true if more may be left. A call that rejects may have removed a part. Safe to repeat.
   */
  endMemberships(): Promise<boolean>;

  /**
   * Adds or replaces the experience, unless its segments are missing in the catalogue; returns the missing ones. Safe
   * to repeat.
   */
  putExperience(experience: Experience): Promise<{ missing: readonly ("audience" | "goal")[] }>;
  /** Returns up to `limit` experiences with ids after `after` (absent: from the first). */
  experiences(after: string | undefined, limit: number): Promise<Experience[]>;
  /** Returns the experiences of these ids; unknown ones are absent. */
  experiencesById(ids: readonly string[]): Promise<Map<string, Experience>>;
  /** Number of experiences. */
  countExperiences(): Promise<number>;
  /** Returns false if there is none. Safe to repeat. */
  deleteExperience(id: string): Promise<boolean>;
}

/** Ids of the experiences and of the segments by rule that name a segment. */
export interface SegmentUsers {
  readonly experiences: readonly string[];
  readonly rules: readonly string[];
}

/** A dated note for charts, such as a release or a campaign. */
export interface Mark {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly text: string;
  /** Name of the dimension that it concerns; absent: all. */
  readonly dimension?: string;
  /** Id within the dimension; absent: all of them. */
  readonly dimensionId?: string;
}

/** Maximum marks. */
export const MAX_MARKS = 10_000;

/** Returns the mark of a rule that differs since `at` (Unix ms), which contains nothing of the rule. */
export function ruleMark(segment: string, isNew: boolean, at: number): Mark {
  const text = isNew ? "Rule made" : "Rule changed";
  return { id: randomId(), at, text, dimension: "segment", dimensionId: segment };
}

/** Marks to list: from `from` on, before `to` (Unix ms), of this dimension and id if given. */
export interface MarkFilter extends Pick<Mark, "dimension" | "dimensionId"> {
  readonly from: number;
  readonly to: number;
}

/**
 * PORT. Marks by id; lists are in the order of the ids' UTF-8 bytes. Resolved writes survive a crash. Rejects as every
 * store does: see `ToServiceError`.
 */
export interface MarkStore {
  /**
   * Adds the mark, or replaces the mark with its id. Returns false, and stores nothing, if it is new and `most` marks
   * exist; concurrent calls of several processes may exceed that by one each. Safe to repeat.
   */
  putMark(mark: Mark, most: number): Promise<boolean>;
  /** Undefined if there is none. */
  mark(id: string): Promise<Mark | undefined>;
  /** Returns up to `limit` matching marks with ids after `after` (absent: from the first). */
  marks(filter: MarkFilter, after: string | undefined, limit: number): Promise<Mark[]>;
  /** Returns false if there is none. Safe to repeat. */
  deleteMark(id: string): Promise<boolean>;
}

/**
 * PORT. Membership counts for the catalogue. Concurrent changes may or may not be counted. Rejects as `MembershipIndex`
 * does.
 */
export interface SegmentMembers {
  /** Returns the number of members of each of these segments, in the order of the request; 0 for an unknown segment. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** Returns the number of entities that are members of both. */
  overlap(a: string, b: string): Promise<number>;
}
