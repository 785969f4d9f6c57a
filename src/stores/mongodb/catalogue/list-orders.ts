import type { Db } from "mongodb";
import type { SharedOrders } from "../../../catalogue/ports.js";
import type { CollectionPlan } from "../collection.js";

const SECONDS = 660;

/** The server removes an order 11 minutes after its last `put`; a process repeats a `put` only after a minute. */
export const listOrderCollections: readonly CollectionPlan[] = [
  { name: "list_orders", indexes: [{ key: { putAt: 1 }, expireAfterSeconds: SECONDS }] },
];

interface OrderDocument {
  /** Its name, a digest. */
  readonly _id: string;
  readonly ids: readonly string[];
  readonly putAt: Date;
}

/** Orders of lists, a document each: 10,000 ids of 1,024 bytes take less than the 16 MiB of a document. */
export function mongoListOrders(db: Db): SharedOrders {
  const orders = db.collection<OrderDocument>("list_orders");
  return {
    async put(name, ids) {
      await orders.updateOne({ _id: name }, { $setOnInsert: { ids }, $currentDate: { putAt: true } }, { upsert: true });
    },

    async find(name) {
      return (await orders.findOne({ _id: name }))?.ids;
    },
  };
}
