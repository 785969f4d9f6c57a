import { type Db, MongoServerError } from "mongodb";
import { groupedErasure } from "../../async/grouped-calls.js";
import type { MembershipIndex } from "../../entities/ports.js";
import { byIds } from "./collection.js";
import { entityCollectionsOf, memberOf } from "./entity-document.js";

/** Segments counted at once, each by the index. */
const AT_ONCE = 4;

/** How long one pass over the members of all the segments may take, ms; then each segment is counted by itself. */
const PASS_MS = 2_000;
const TIME_IS_UP = 50;

/** Memberships as the documents of the profiles say. */
export function mongoMembershipIndex(db: Db): MembershipIndex {
  const { entities } = entityCollectionsOf(db);

  const sizeOf = (segment: string) => entities.countDocuments({ segments: memberOf(segment) });

  /**
   * All of them from one pass over the members: `segments` (texts as in the index) in, `{ _id: text, members }` out. Undefined when there are too
   * many.
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
      const counts = segments.length > 1 ? await inOnePass(segments) : undefined;
      if (counts !== undefined) return segments.map((segment) => counts.get(memberOf(segment)) ?? 0);
      const sizes: number[] = [];
      for (let from = 0; from < segments.length; from += AT_ONCE) {
        sizes.push(...(await Promise.all(segments.slice(from, from + AT_ONCE).map(sizeOf))));
      }
      return sizes;
    },

    overlap: (a, b) => entities.countDocuments({ segments: { $all: [memberOf(a), memberOf(b)] } }),

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
