import type { Db, Document, Filter } from "mongodb";
import { groupedErasure } from "../../../async/grouped-calls.js";
import type { MembershipIndex } from "../../../entities/ports.js";
import { byIds } from "../collection.js";
import { endingGenerations } from "./deleted-segments.js";
import { type EntityDocument, entityCollectionsOf, GENERATION, memberOf } from "./entity-document.js";

/** Segments counted by one query. */
const SEGMENTS_PER_QUERY = 50;

/** Memberships, read from the documents of the profiles. */
export function mongoMembershipIndex(db: Db): MembershipIndex {
  const { entities } = entityCollectionsOf(db);

  return {
    /** Each segment by a pipeline of its own, which the server answers from the index, without reading a profile. */
    async sizes(segments) {
      const ending = await endingGenerations(db);
      const sizes = new Map<string, number>();
      for (let from = 0; from < segments.length; from += SEGMENTS_PER_QUERY) {
        const pipeline = segments.slice(from, from + SEGMENTS_PER_QUERY).flatMap((segment, at): Document[] => {
          const count = [
            { $match: membersOf(segment, ending) },
            { $group: { _id: { $literal: segment }, members: { $sum: 1 } } },
          ];
          return at === 0 ? count : [{ $unionWith: { coll: entities.collectionName, pipeline: count } }];
        });
        const found = entities.aggregate<{ _id: string; members: number }>(pipeline);
        for await (const { _id, members } of found) sizes.set(_id, members);
      }
      return segments.map((segment) => sizes.get(segment) ?? 0);
    },

    async overlap(a, b) {
      const ending = await endingGenerations(db);
      const inBoth = [a, b].map((segment) => membersOf(segment, ending));
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
        await entities.updateMany(byIds(ids), { $set: { segments: [], updates: [], fullSince: null } });
      },
      async held(ids) {
        const named = { ...byIds(ids), $or: [{ "updates.0": { $exists: true } }, { fullSince: { $ne: null } }] };
        return (await entities.find(named, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
      },
    }),
  };
}

/** Filter for the members of a segment, without void updates. */
function membersOf(segment: string, generations: ReadonlyMap<string, number>): Filter<EntityDocument> {
  const members = { segments: memberOf(segment) };
  const generation = generations.get(segment);
  if (generation === undefined) return members;
  return { ...members, updates: { $elemMatch: { 0: segment, [GENERATION]: { $gte: generation } } } };
}
