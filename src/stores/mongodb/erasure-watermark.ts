import type { Db } from "mongodb";
import type { ErasureWatermark } from "../../deletions/erasure-watermark.js";
import type { CollectionPlan } from "./collection.js";
import { marks, numberOf, raiseTo } from "./marks.js";

export const erasureWatermarkCollections: readonly CollectionPlan[] = [marks];

const NAME = "erased";

/** How much of the ledger the database of the profiles has seen. */
export function mongoErasureWatermark(db: Db): ErasureWatermark {
  return {
    read: () => numberOf(db, NAME),
    write: (sequence) => raiseTo(db, NAME, sequence),
  };
}
