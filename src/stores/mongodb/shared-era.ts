import type { Db } from "mongodb";
import type { SharedEra } from "../../metrics/shared-era.js";
import type { CollectionPlan } from "./collection.js";
import { marks, numberOf, raiseByOne } from "./marks.js";

export const sharedEraCollections: readonly CollectionPlan[] = [marks];

const NAME = "era";

/** The era, in the database of the profiles. */
export function mongoSharedEra(db: Db): SharedEra {
  return {
    read: () => numberOf(db, NAME),
    raise: () => raiseByOne(db, NAME),
  };
}
