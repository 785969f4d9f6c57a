import type { Commit, ProfileChange } from "../ports.js";
import type { Memberships, Version } from "./entity.js";

/** Time of each segment's last deletion, Unix ms, by id; segments that were never deleted are absent. */
export type SegmentDeletions = ReadonlyMap<string, number>;

/**
 * Returns whether the deletion of its segment (Unix ms; undefined: none) voids a statement. A statement counts only if
 * its event time and its arrival are both later: an older event never overwrites the deletion, and a future-dated event
 * that arrived earlier does not survive it.
 */
export function isVoid({ time, arrival }: Version, deletedAt: number | undefined): boolean {
  return deletedAt !== undefined && (time <= deletedAt || arrival <= deletedAt);
}

/** Returns the memberships without void statements. */
export function validMemberships(memberships: Memberships, deletions: SegmentDeletions): Memberships {
  if (deletions.size === 0) return memberships;
  const valid = [...memberships.statements].filter(([segment, version]) => !isVoid(version, deletions.get(segment)));
  return { ...memberships, statements: new Map(valid) };
}

/** Returns every segment that a commit has a statement about or may add to the catalogue. */
export function segmentsNamedBy({ profiles, segments }: Pick<Commit, "profiles" | "segments">): string[] {
  const named = new Set(segments.map(({ id }) => id));
  for (const { changedSegments } of profiles) for (const id of changedSegments) named.add(id);
  return [...named];
}

/** Returns the part of a commit to store: no void statements, and no deleted segment that only void statements name. */
export function validCommit(
  commit: Pick<Commit, "profiles" | "segments">,
  deletions: SegmentDeletions,
): Pick<Commit, "profiles" | "segments"> {
  if (deletions.size === 0) return commit;
  const profiles = commit.profiles.map((change) => validChange(change, deletions));
  const stated = new Set(profiles.flatMap(({ changedSegments }) => [...changedSegments]));
  const segments = commit.segments.filter(({ id }) => !deletions.has(id) || stated.has(id));
  return { profiles, segments };
}

function validChange(change: ProfileChange, deletions: SegmentDeletions): ProfileChange {
  const memberships = validMemberships(change.entity.memberships, deletions);
  const changedSegments = new Set([...change.changedSegments].filter((id) => memberships.statements.has(id)));
  return { ...change, entity: { ...change.entity, memberships }, changedSegments };
}
