import { chance, type SyntheticSet, smallSet } from "./synthetic-sets.js";

/** Number of synthetic people. */
export const PEOPLE = 600;

/** Returns the numbers of the people in each segment of a set. */
export function membersBySegment({ segments }: SyntheticSet): ReadonlyMap<string, ReadonlySet<number>> {
  const people = Array.from({ length: PEOPLE }, (_, index) => index);
  return new Map(segments.map(({ id, share }) => [id, new Set(people.filter((index) => chance(id, index) < share))]));
}

/** Counts the people in all of these segments of the small set. */
export function membersOf(...ids: readonly string[]): number {
  return overlapOf(membersBySegment(smallSet), ids);
}

/** Counts the people in all of these segments. */
export function overlapOf(
  members: ReadonlyMap<string, ReadonlySet<number>>,
  [first = "", ...others]: readonly string[],
) {
  const rest = others.map((id) => members.get(id));
  return [...(members.get(first) ?? [])].filter((index) => rest.every((people) => people?.has(index))).length;
}
