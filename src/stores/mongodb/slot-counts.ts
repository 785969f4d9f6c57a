import type { AnyBulkWriteOperation, Db } from "mongodb";
import type { SlotCount, SlotCounts } from "../../metrics/slot-counts.js";
import { type CollectionPlan, duplicatesOf, oneOf } from "./collection.js";

/** What one lane of settlements has counted for a stream and slot. Writers of different lanes never meet at a document. */
export interface CountDocument extends SlotCount {
  /** Slot, stream and lane. */
  readonly _id: string;
  /** Slot and stream. */
  readonly part: string;
  /** The last settlement of the lane that is counted here. */
  readonly seq: number;
  /** Never saved, or grown since. */
  readonly dirty: boolean;
}

export const slotCountsCollections: readonly CollectionPlan[] = [
  { name: "stream_counts", indexes: [{ key: { dirty: 1, slot: 1, stream: 1 } }, { key: { part: 1 } }] },
];

/** Stream counts; settlements of the history add to them. */
export function mongoSlotCounts(db: Db): SlotCounts {
  const counts = db.collection<CountDocument>("stream_counts");

  return {
    async unsaved(before, limit) {
      const grown = await counts
        .aggregate<{ _id: Omit<SlotCount, "count"> }>([
          { $match: { dirty: true, slot: { $lt: before } } },
          { $group: { _id: { slot: "$slot", stream: "$stream" } } },
          { $sort: { "_id.slot": 1, "_id.stream": 1 } },
          { $limit: limit },
        ])
        .toArray();
      if (grown.length === 0) return [];
      const sums = await counts
        .aggregate<{ _id: string; count: number }>([
          { $match: { part: oneOf(grown.map(({ _id }) => partOf(_id))) } },
          { $group: { _id: "$part", count: { $sum: "$count" } } },
        ])
        .toArray();
      const byPart = new Map(sums.map(({ _id, count }) => [_id, count]));
      return grown.map(({ _id: { stream, slot } }) => ({
        stream,
        slot,
        count: byPart.get(partOf({ stream, slot })) ?? 0,
      }));
    },

    async saved(saved) {
      if (saved.length === 0) return;
      const found = await counts.find({ part: oneOf(saved.map(partOf)) }).toArray();
      const lanes = new Map(saved.map((count) => [partOf(count), [] as CountDocument[]]));
      for (const lane of found) lanes.get(lane.part)?.push(lane);
      const unchanged = new Map<number, string[]>();
      for (const whole of saved) {
        const own = lanes.get(partOf(whole)) ?? [];
        if (sumOf(own) !== whole.count) continue;
        for (const { _id, count } of own) unchanged.set(count, [...(unchanged.get(count) ?? []), _id]);
      }
      const notes = Array.from(unchanged, ([count, ids]) => ({
        // A lane that has grown meanwhile stays as it is.
        updateMany: { filter: { _id: oneOf(ids), count }, update: { $set: { dirty: false } } },
      }));
      if (notes.length > 0) await counts.bulkWrite(notes, { ordered: false });
    },
  };
}

/** Adds what settlement `seq` of a lane comes to, and notes that it did also where that is 0. Where that one is counted already, or a later one of its lane, nothing happens. */
export type CountOnce = (added: readonly SlotCount[], lane: string, seq: number) => Promise<void>;

/** Settlements of a lane are to be counted one after the other, by however many at once. */
export function countOnce(db: Db): CountOnce {
  const counts = db.collection<CountDocument>("stream_counts");

  return async (added, lane, seq) => {
    if (added.length === 0) return;
    const additions: AnyBulkWriteOperation<CountDocument>[] = added.map((more) => ({
      updateOne: {
        filter: { _id: `${partOf(more)}/${lane}`, seq: { $lt: seq } },
        update: more.count === 0 ? { $set: { seq } } : { $inc: { count: more.count }, $set: { seq, dirty: true } },
      },
    }));
    const { matchedCount } = await counts.bulkWrite(additions, { ordered: false });
    if (matchedCount === added.length) return;
    const first = added.map((more) => {
      const part = partOf(more);
      return { _id: `${part}/${lane}`, part, ...more, seq, dirty: more.count > 0 };
    });
    // Those that are there have counted it.
    await counts.insertMany(first, { ordered: false }).catch(duplicatesOf);
  };
}

/** Names a stream and slot. */
export function partOf({ stream, slot }: Omit<SlotCount, "count">): string {
  return `${slot}/${stream}`;
}

function sumOf(counts: readonly SlotCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}
