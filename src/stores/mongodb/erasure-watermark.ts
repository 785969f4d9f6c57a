import type { Db } from "mongodb";
import type { ErasureWatermark } from "../../deletions/erasure-watermark.js";
import type { CollectionPlan } from "./collection.js";
import { marks, marksOf, numberOf, raiseTo } from "./marks.js";

export const erasureWatermarkCollections: readonly CollectionPlan[] = [marks];

const ERASED = "erased";
const ACCEPTED = "accepted";
const FORGOTTEN = "forgotten";

/** How much of the ledger the database of the profiles has seen. */
export function mongoErasureWatermark(db: Db): ErasureWatermark {
  return {
    read: () => numberOf(db, ERASED),
    write: (sequence) => raiseTo(db, ERASED, sequence),
    noteAccepted: (sequence) => raiseTo(db, ACCEPTED, sequence),
    noteForgotten: (sequence) => raiseTo(db, FORGOTTEN, sequence),
  };
}

/** Numbers of requests: up to which all are erased in the data, the newest accepted, the newest that may be forgotten. */
export async function seenBy(db: Db) {
  const found = await marksOf(db)
    .find({ _id: { $in: [ERASED, ACCEPTED, FORGOTTEN] } })
    .toArray();
  const numberOfMark = (name: string) => found.find(({ _id }) => _id === name)?.number ?? 0;
  return { erased: numberOfMark(ERASED), accepted: numberOfMark(ACCEPTED), forgotten: numberOfMark(FORGOTTEN) };
}
