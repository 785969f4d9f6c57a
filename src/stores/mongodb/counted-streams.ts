import type { ClientSession, Db } from "mongodb";
import type { SlotCount, SlotCounts } from "../../metrics/ports.js";
import { expiredCountsOf, messagesOf, type StreamDocument, streamsOf, touchedSlotsOf } from "./history.js";
import type { Transact } from "./transaction.js";

/** What streams there are, and what is counted for them, in slots of `slotMs`. A slot may be listed in two parts. */
export function countedStreams(db: Db, transact: Transact, slotMs: number): Pick<SlotCounts, "streams" | "counted"> {
  const notes = touchedSlotsOf(db);
  const expired = expiredCountsOf(db);

  return {
    /** A note is removed once `streams` has what it says: so the notes are read first. */
    async streams(after = "", limit) {
      const noted = await notes
        .aggregate<StreamDocument>([
          { $match: { stream: { $gt: after } } },
          { $group: { _id: "$stream", lastArrival: { $max: { $ifNull: ["$arrival", "$slot"] } } } },
          { $sort: { _id: 1 } },
          { $limit: limit },
        ])
        .toArray();
      const kept = await streamsOf(db)
        .find({ _id: { $gt: after } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray();
      const newest = new Map<string, number>();
      for (const { _id, lastArrival } of [...kept, ...noted]) {
        newest.set(_id, Math.max(lastArrival, newest.get(_id) ?? lastArrival));
      }
      const byName = [...newest].sort(([a], [b]) => (a < b ? -1 : 1));
      return byName.slice(0, limit).map(([stream, lastArrival]) => ({ stream, lastArrival }));
    },

    /** A slot whose count was saved, and which no commit has touched since, is not counted again. */
    counted: (names, from, to) =>
      transact(async (session) => {
        const wanted = { stream: { $in: [...names] }, slot: { $gte: from, $lt: to } };
        const touched = new Set((await notes.find(wanted, { session }).toArray()).map(keyOf));
        const beside = await expired.find(wanted, { session }).toArray();
        const saved = beside.filter((one) => one.saved !== undefined && !touched.has(keyOf(one)));
        const known = new Set(saved.map(keyOf));
        const slots = Array.from({ length: Math.ceil((to - from) / slotMs) }, (_, index) => from + index * slotMs);
        const unknown = names.map((stream) => ({
          stream,
          slot: { $in: slots.filter((slot) => !known.has(keyOf({ stream, slot }))) },
        }));
        const live = unknown.length === 0 ? [] : await messagesIn(unknown, session);
        const expiredToo = beside.filter((one) => !known.has(keyOf(one)));
        return [
          ...saved.map(({ stream, slot, saved: count = 0 }) => ({ stream, slot, count })),
          ...live,
          ...expiredToo.map(({ stream, slot, count = 0 }) => ({ stream, slot, count })),
        ];
      }),
  };

  /** Slots of streams in, how many messages the index has for each out: `{ _id: { stream, slot }, count }`. */
  async function messagesIn(slots: readonly object[], session: ClientSession): Promise<SlotCount[]> {
    const grouped = messagesOf(db).aggregate<{ _id: { stream: string; slot: number }; count: number }>(
      [{ $match: { $or: slots } }, { $group: { _id: { stream: "$stream", slot: "$slot" }, count: { $sum: 1 } } }],
      { session },
    );
    return (await grouped.toArray()).map(({ _id, count }) => ({ ..._id, count }));
  }
}

function keyOf({ stream, slot }: { readonly stream: string; readonly slot: number }): string {
  return `${slot}/${stream}`;
}
