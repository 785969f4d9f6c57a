import { randomBytes } from "node:crypto";
import type { Db } from "mongodb";
import { oneOf } from "./collection.js";
import { type AppendDocument, historyDocuments, type PendingDocument, piecesOf } from "./history-documents.js";

/** What says of which append a message is. */
export type OfAppend = Pick<PendingDocument, "_id" | "append">;

/** What decides between those who settle, replace and remove pending messages: one write to the document of their append. */
export interface Appends {
  /** Makes one for messages of which the latest arrived then. */
  begin(arrival: number): Promise<string>;
  /** Takes messages of an append for a settlement; `part`: null is all of them. Undefined when another has it, or it is gone. */
  take(append: string, lane: string, seq: number, part: readonly string[] | null): Promise<AppendDocument | undefined>;
  /** Ends the settlement that has taken it. */
  end(append: AppendDocument): Promise<void>;
  /** From now on no settlement takes these messages of an append. False while one has it. */
  detach(append: string, messages: readonly OfAppend[]): Promise<boolean>;
  /** Brings messages into a new one. Resolves with those that were still there, and that no settlement has. */
  renew(messages: readonly PendingDocument[]): Promise<PendingDocument[]>;
  /** Those of these messages that a settlement has. */
  takenOf(messages: readonly OfAppend[]): Promise<AppendDocument[]>;
  /** Those that a settlement has, and of which all arrived before `before`. */
  takenBefore(before: number): Promise<AppendDocument[]>;
  /** Removes those that no settlement has, and of which all arrived before `before`: no message of theirs is there. */
  forget(before: number): Promise<void>;
}

export function mongoAppends(db: Db): Appends {
  const { pending, appends } = historyDocuments(db);

  async function begin(arrival: number): Promise<string> {
    const _id = randomBytes(12).toString("base64url");
    await appends.insertOne({ _id, arrival, detached: [], lane: null, seq: 0, part: null });
    return _id;
  }

  async function detach(append: string, messages: readonly OfAppend[]): Promise<boolean> {
    const ids = messages.map(({ _id }) => _id);
    const free = { _id: append, lane: null };
    const { matchedCount } = await appends.updateOne(free, { $push: { detached: { $each: ids } } });
    return matchedCount > 0 || (await appends.findOne({ _id: append }, { projection: { _id: 1 } })) === null;
  }

  return {
    begin,

    async take(append, lane, seq, part) {
      const free = { _id: append, lane: null };
      const taken = await appends.findOneAndUpdate(
        free,
        { $set: { lane, seq, part, counted: false } },
        { returnDocument: "after" },
      );
      return taken ?? undefined;
    },

    async end({ _id, lane, seq, part }) {
      const own = { _id, lane, seq };
      if (part === null) await appends.deleteOne(own);
      else
        await appends.updateOne(own, { $set: { lane: null, part: null }, $push: { detached: { $each: [...part] } } });
    },

    detach,

    async renew(messages) {
      const append = await begin(latestOf(messages));
      for (const [before, own] of byAppend(messages)) {
        if (!(await detach(before, own))) continue;
        await pending.updateMany({ _id: oneOf(own.map(({ _id }) => _id)), append: before }, { $set: { append } });
      }
      return pending.find({ _id: oneOf(messages.map(({ _id }) => _id)), append }).toArray();
    },

    async takenOf(messages) {
      const found: AppendDocument[] = [];
      for (const piece of piecesOf([...byAppend(messages).keys()])) {
        found.push(...(await appends.find({ _id: oneOf(piece), lane: { $ne: null } }).toArray()));
      }
      return found;
    },

    takenBefore: (before) => appends.find({ arrival: { $lt: before }, lane: { $ne: null } }).toArray(),

    async forget(before) {
      await appends.deleteMany({ arrival: { $lt: before }, lane: null });
    },
  };
}

/** Whether a settlement has taken a message of its append. */
export function hasTaken({ lane, part, detached }: AppendDocument, id: string): boolean {
  return lane !== null && (part === null || part.includes(id)) && !detached.includes(id);
}

/** Those that no settlement has. */
export function notTaken<T extends OfAppend>(messages: readonly T[], taken: readonly AppendDocument[]): T[] {
  if (taken.length === 0) return [...messages];
  const appends = new Map(taken.map((append) => [append._id, append]));
  return messages.filter(({ _id, append }) => {
    const own = appends.get(append);
    return own === undefined || !hasTaken(own, _id);
  });
}

export function byAppend<T extends OfAppend>(messages: readonly T[]): Map<string, T[]> {
  const appends = new Map<string, T[]>();
  for (const message of messages) {
    const own = appends.get(message.append);
    if (own === undefined) appends.set(message.append, [message]);
    else own.push(message);
  }
  return appends;
}

export function latestOf(messages: readonly Pick<PendingDocument, "arrival">[]): number {
  return messages.reduce((latest, { arrival }) => Math.max(latest, arrival), Number.NEGATIVE_INFINITY);
}
