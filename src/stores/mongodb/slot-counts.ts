import type { AnyBulkWriteOperation, Db } from "mongodb";
import type { SlotCount, SlotCounts } from "../../metrics/slot-counts.js";
import { type CollectionPlan, duplicatesOf, oneOf } from "./collection.js";

interface CountDocument extends SlotCount {
  /** Slot and stream. */
  readonly _id: string;
  /** Never saved, or grown since. */
  readonly dirty: boolean;
  /** By lane, the number of the last settlement that is counted here. */
  readonly lanes: Readonly<Record<string, number>>;
}

export const slotCountsCollections: readonly CollectionPlan[] = [
  { name: "stream_counts", indexes: [{ key: { dirty: 1, slot: 1, stream: 1 } }] },
];

/** Stream counts; settlements of the history add to them. */
export function mongoSlotCounts(db: Db): SlotCounts {
  const counts = db.collection<CountDocument>("stream_counts");

  return {
    unsaved: (before, limit) =>
      counts
        .find({ dirty: true, slot: { $lt: before } })
        .sort({ slot: 1, stream: 1 })
        .limit(limit)
        .project<SlotCount>({ _id: 0, stream: 1, slot: 1, count: 1 })
        .toArray(),

    async saved(saved) {
      const ids = new Map<number, string[]>();
      for (const part of saved) ids.set(part.count, [...(ids.get(part.count) ?? []), idOf(part)]);
      const notes: AnyBulkWriteOperation<CountDocument>[] = Array.from(ids, ([count, ofCount]) => ({
        updateMany: { filter: { _id: oneOf(ofCount), count }, update: { $set: { dirty: false } } },
      }));
      if (notes.length > 0) await counts.bulkWrite(notes, { ordered: false });
    },
  };
}

/** Adds to counts what settlement `seq` of a lane comes to. Where that one is counted already, or a later one of its lane, nothing happens. */
export type CountOnce = (parts: readonly SlotCount[], lane: string, seq: number) => Promise<void>;

export function countOnce(db: Db): CountOnce {
  const counts = db.collection<CountDocument>("stream_counts");

  return async (parts, lane, seq) => {
    if (parts.length === 0) return;
    const last = `lanes.${lane}`;
    const add = async (some: readonly SlotCount[]): Promise<number> => {
      const additions: AnyBulkWriteOperation<CountDocument>[] = some.map((part) => ({
        updateOne: {
          filter: { _id: idOf(part), [last]: { $not: { $gte: seq } } },
          update: { $inc: { count: part.count }, $set: { dirty: true, [last]: seq } },
        },
      }));
      return (await counts.bulkWrite(additions, { ordered: false })).matchedCount;
    };
    if ((await add(parts)) === parts.length) return;
    const fresh = parts.map((part) => ({ _id: idOf(part), ...part, dirty: true, lanes: { [lane]: seq } }));
    const there = await counts.insertMany(fresh, { ordered: false }).then(() => new Set<number>(), duplicatesOf);
    // Those that were there have it, or another lane began them a moment ago.
    if (there.size > 0) await add(parts.filter((_, index) => there.has(index)));
  };
}

function idOf({ stream, slot }: Omit<SlotCount, "count">): string {
  return `${slot}/${stream}`;
}
