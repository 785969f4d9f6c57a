import type { ClientSession, Collection, Db } from "mongodb";
import type { Mark, MarkStore } from "../../../catalogue/ports.js";
import type { CollectionPlan } from "../collection.js";
import type { Transact } from "../transaction.js";

export const markCollections: readonly CollectionPlan[] = [{ name: "chart_marks", indexes: [] }];

export type MarkDocument = Omit<Mark, "id"> & { readonly _id: string };

export const chartMarksOf = (db: Db): Collection<MarkDocument> => db.collection<MarkDocument>("chart_marks");

/** Stores marks, a document each. Lists are sorted by `_id`, in the order of UTF-8 bytes. */
export function mongoMarkStore(db: Db, transact: Transact): MarkStore {
  const marks = chartMarksOf(db);

  return {
    putMark: (mark, most) => transact((session) => putMark(db, session, mark, most)),

    mark: (id) => marks.findOne({ _id: id }).then((found) => (found ? markOf(found) : undefined)),

    async marks({ from, to, dimension, dimensionId }, after, limit) {
      const page = marks.find({
        _id: { $gt: after ?? "" },
        at: { $gte: from, $lt: to },
        ...(dimension === undefined ? {} : { dimension: { $eq: dimension } }),
        ...(dimensionId === undefined ? {} : { dimensionId: { $eq: dimensionId } }),
      });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(markOf);
    },

    deleteMark: (id) => transact(async (session) => (await marks.deleteOne({ _id: id }, { session })).deletedCount > 0),
  };
}

/** `MarkStore.putMark` in the caller's transaction. */
export async function putMark(db: Db, session: ClientSession, { id, ...mark }: Mark, most: number): Promise<boolean> {
  const marks = chartMarksOf(db);
  const replaced = await marks.replaceOne({ _id: id }, mark, { session });
  if (replaced.matchedCount > 0) return true;
  if ((await marks.countDocuments({}, { session, hint: "_id_" })) >= most) return false;
  await marks.insertOne({ _id: id, ...mark }, { session });
  return true;
}

function markOf({ _id: id, ...mark }: MarkDocument): Mark {
  return { id, ...mark };
}
