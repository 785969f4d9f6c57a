import { type Collection, MongoServerError } from "mongodb";
import type { MembershipDocument } from "./membership-statements.js";

/** Segments counted at once, each by the index. */
const AT_ONCE = 4;

/** How long one pass over the members of all the segments may take, ms; then each segment is counted by itself. */
const PASS_MS = 2_000;
const TIME_IS_UP = 50;

/** Number of members of each of these segments, in the order asked. */
export async function sizesOf(
  memberships: Collection<MembershipDocument>,
  segments: readonly string[],
): Promise<number[]> {
  const counts = segments.length > 1 ? await inOnePass(memberships, segments) : undefined;
  return counts === undefined ? oneByOne(memberships, segments) : segments.map((segment) => counts.get(segment) ?? 0);
}

/** All of them from the same members; undefined when there are too many. */
async function inOnePass(
  memberships: Collection<MembershipDocument>,
  segments: readonly string[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const wanted = { $match: { in: { $in: [...segments] } } };
  const pass = memberships.aggregate<{ _id: string; members: number }>(
    [wanted, { $unwind: "$in" }, wanted, { $group: { _id: "$in", members: { $sum: 1 } } }],
    { maxTimeMS: PASS_MS },
  );
  try {
    return new Map((await pass.toArray()).map(({ _id, members }) => [_id, members]));
  } catch (error) {
    if (error instanceof MongoServerError && error.code === TIME_IS_UP) return undefined;
    throw error;
  }
}

async function oneByOne(memberships: Collection<MembershipDocument>, segments: readonly string[]): Promise<number[]> {
  const sizes: number[] = [];
  for (let at = 0; at < segments.length; at += AT_ONCE) {
    const some = segments.slice(at, at + AT_ONCE);
    sizes.push(...(await Promise.all(some.map((segment) => memberships.countDocuments({ in: segment })))));
  }
  return sizes;
}
