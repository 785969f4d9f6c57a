import { type Db, type Filter, MongoServerError } from "mongodb";
import { groupedErasure } from "../../async/grouped-calls.js";
import type { MembershipIndex } from "../../entities/ports.js";
import { endingDeletions } from "./catalogue-store.js";
import { byIds } from "./collection.js";
import { type EntityDocument, entityCollectionsOf, memberOf } from "./entity-document.js";

/** Segments counted concurrently, each by the index. */
const AT_ONCE = 4;

/** Time limit of one pass over the members of all the segments, ms; after it each segment is counted separately. */
const PASS_MS = 2_000;
const TIME_IS_UP = 50;

/** Memberships, read from the documents of the profiles. */
export function mongoMembershipIndex(db: Db): MembershipIndex {
  const { entities } = entityCollectionsOf(db);

  const membersOf = (segment: string, deletedAt: number | undefined) =>
    deletedAt === undefined ? { segments: memberOf(segment) } : validMembers(segment, deletedAt);

  /**
   * Counts all members in one pass: `segments` (texts as in the index) in, `{ _id: text, members }` out. Undefined if
   * there are too many.
   */
  async function inOnePass(segments: readonly string[]): Promise<Map<string, number> | undefined> {
    const wanted = { $match: { segments: { $in: segments.map(memberOf) } } };
    const pass = entities.aggregate<{ _id: string; members: number }>(
      [
        wanted,
        { $project: { _id: 0, segments: 1 } },
        { $unwind: "$segments" },
        wanted,
        { $group: { _id: "$segments", members: { $sum: 1 } } },
      ],
      { maxTimeMS: PASS_MS },
    );
    try {
      return new Map((await pass.toArray()).map(({ _id, members }) => [_id, members]));
    } catch (error) {
      if (error instanceof MongoServerError && error.code === TIME_IS_UP) return undefined;
      throw error;
    }
  }

  return {
    async sizes(segments) {
      if (segments.length === 0) return [];
      const ending = await endingDeletions(db);
      const counts = segments.length > 1 ? await inOnePass(segments.filter((id) => !ending.has(id))) : undefined;
      const sizeOf = async (segment: string): Promise<number> =>
        counts === undefined || ending.has(segment)
          ? entities.countDocuments(membersOf(segment, ending.get(segment)))
          : (counts.get(memberOf(segment)) ?? 0);
      const sizes: number[] = [];
      for (let from = 0; from < segments.length; from += AT_ONCE) {
        sizes.push(...(await Promise.all(segments.slice(from, from + AT_ONCE).map(sizeOf))));
      }
      return sizes;
    },

    async overlap(a, b) {
      const ending = await endingDeletions(db);
      const inBoth = [a, b].map((segment) => membersOf(segment, ending.get(segment)));
      return entities.countDocuments({ $and: inBoth });
    },

    async members(segment, after = "", limit) {
      const page = entities.find(
        { segments: memberOf(segment), _id: { $gt: after } },
        { projection: { _id: 1 }, sort: { _id: 1 }, limit, batchSize: limit + 1 },
      );
      return (await page.toArray()).map(({ _id }) => _id);
    },

    ...groupedErasure({
      async erase(ids) {
        await entities.updateMany(byIds(ids), { $set: { segments: [], statements: [], fullSince: null } });
      },
      async held(ids) {
        const named = { ...byIds(ids), $or: [{ "segments.0": { $exists: true } }, { fullSince: { $ne: null } }] };
        return (await entities.find(named, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
      },
    }),
  };
}

/** Members of a deleted segment, without void statements. */
function validMembers(segment: string, deletedAt: number): Filter<EntityDocument> {
  const later = { $gt: deletedAt };
  return { segments: memberOf(segment), statements: { $elemMatch: { 0: segment, 2: later, 3: later } } };
}
