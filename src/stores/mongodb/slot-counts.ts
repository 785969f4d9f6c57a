import type { AnyBulkWriteOperation, Db } from "mongodb";
import type { SlotCount, SlotCounts } from "../../metrics/slot-counts.js";
import { type CollectionPlan, oneOf } from "./collection.js";
import { type AppendDocument, historyDocuments } from "./history-documents.js";

/** A share of what is counted for a stream and slot: there are a few, so that settlements at the same time seldom change the same one. */
export interface CountDocument extends SlotCount {
  /** Slot, stream and share. */
  readonly _id: string;
  /** Slot and stream. */
  readonly part: string;
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
      const shares = new Map(saved.map((count) => [partOf(count), [] as CountDocument[]]));
      for (const share of found) shares.get(share.part)?.push(share);
      const unchanged = new Map<number, string[]>();
      for (const whole of saved) {
        const own = shares.get(partOf(whole)) ?? [];
        if (sumOf(own) !== whole.count) continue;
        for (const { _id, count } of own) unchanged.set(count, [...(unchanged.get(count) ?? []), _id]);
      }
      const notes = Array.from(unchanged, ([count, ids]) => ({
        // A share that has grown meanwhile stays as it is.
        updateMany: { filter: { _id: oneOf(ids), count }, update: { $set: { dirty: false } } },
      }));
      if (notes.length > 0) await counts.bulkWrite(notes, { ordered: false });
    },
  };
}

/** Adds what a settlement comes to, once however often it is called. Nothing happens when the settlement has ended. */
export type CountOnce = (
  settlement: Pick<AppendDocument, "_id" | "lane" | "seq">,
  share: string,
  added: readonly SlotCount[],
) => Promise<void>;

/** How long a transaction is tried again while others change the same counts, ms. */
const LONGEST_MS = 4_000;

/** Counts, and notes in the append that its settlement is counted, in one transaction. */
export function countOnce(db: Db): CountOnce {
  const { appends } = historyDocuments(db);
  const counts = db.collection<CountDocument>("stream_counts");

  return async ({ _id, lane, seq }, share, added) => {
    const additions: AnyBulkWriteOperation<CountDocument>[] = added
      .filter(({ count }) => count > 0)
      .map(({ stream, slot, count }) => {
        const part = partOf({ stream, slot });
        return {
          updateOne: {
            filter: { _id: `${part}/${share}` },
            update: { $inc: { count }, $set: { dirty: true }, $setOnInsert: { part, stream, slot } },
            upsert: true,
          },
        };
      });
    const session = db.client.startSession();
    try {
      await session.withTransaction(
        async () => {
          const open = { _id, lane, seq, counted: { $ne: true } };
          const { matchedCount } = await appends.updateOne(open, { $set: { counted: true } }, { session });
          if (matchedCount > 0 && additions.length > 0) await counts.bulkWrite(additions, { session });
        },
        {
          readConcern: { level: "snapshot" },
          writeConcern: { w: "majority", journal: true },
          readPreference: "primary",
          timeoutMS: LONGEST_MS,
        },
      );
    } finally {
      await session.endSession();
    }
  };
}

/** Names a stream and slot. */
export function partOf({ stream, slot }: Omit<SlotCount, "count">): string {
  return `${slot}/${stream}`;
}

function sumOf(counts: readonly SlotCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}
