import { type Memberships, namedTime, type Version } from "./entity.js";

/** The last deletion of a segment. */
export interface SegmentDeletion {
  /** Greater than the generation of every earlier deletion of any segment. */
  readonly generation: number;
  /** Unix ms. Compared with event times that messages name, and with nothing else. */
  readonly at: number;
}

/** Deletions of segments, as a batch is planned from them. */
export interface SegmentDeletions {
  /** Generation of the newest deletion of any segment; 0: none. Updates of the batch belong to it. */
  readonly newest: number;
  /** The last deletion of each segment, by id; segments that were never deleted are absent. */
  readonly bySegment: ReadonlyMap<string, SegmentDeletion>;
}

export const noSegmentDeletions: SegmentDeletions = { newest: 0, bySegment: new Map() };

/** Returns whether a message of this version names an event time up to the deletion of the segment. */
export function isBeforeDeletion(version: Version, deletion: SegmentDeletion | undefined): boolean {
  const time = namedTime(version);
  return deletion !== undefined && time !== undefined && time <= deletion.at;
}

/**
 * Returns the memberships without void updates, which were stored before the deletion of their segment.
 * `generations` has the generation of each segment's last deletion.
 */
export function validMemberships(memberships: Memberships, generations: ReadonlyMap<string, number>): Memberships {
  if (generations.size === 0) return memberships;
  const valid = [...memberships.updates].filter(
    ([segment, { generation }]) => generation >= (generations.get(segment) ?? 0),
  );
  return { ...memberships, updates: new Map(valid) };
}

/** Returns whether a commit has updates of segments, or may add segments to the catalogue. */
export function namesSegments(commit: {
  readonly profiles: readonly { readonly changedSegments: ReadonlySet<string> }[];
  readonly segments: readonly unknown[];
}): boolean {
  const { profiles, segments } = commit;
  return segments.length > 0 || profiles.some(({ changedSegments }) => changedSegments.size > 0);
}
