import type { Db } from "mongodb";
import type { HistoryMessage } from "../../entities/history.js";
import { duplicatesOf, oneOf } from "./collection.js";
import { type Appends, byAppend, latestOf, type OfAppend } from "./history-appends.js";
import { historyDocuments, type PendingDocument, pendingDocument, piecesOf } from "./history-documents.js";
import type { RecentMessages } from "./history-recent.js";
import type { AtStep, Settlements } from "./settlements.js";

/** Each round needs another writer or remover of the same message in that very moment. */
const ROUNDS = 20;

export interface PendingParts {
  readonly db: Db;
  readonly appends: Appends;
  readonly recent: RecentMessages;
  readonly settlements: Settlements;
  readonly atStep: AtStep;
}

/** Messages on their way into the pending ones, and out of them other than by settling. */
export interface PendingMessages {
  /** Keeps them, in place of others of the same ids; what a settlement has taken stays. */
  append(messages: readonly HistoryMessage[]): Promise<void>;
  /** Removes them; what a settlement has taken is settled. */
  remove(messages: readonly OfAppend[]): Promise<void>;
}

export function pendingMessages({ db, appends, recent, settlements, atStep }: PendingParts): PendingMessages {
  const { pending } = historyDocuments(db);

  /** Detaches messages, after settlements that have their appends are finished. Resolves with those that are still there. */
  async function detach(messages: readonly OfAppend[]): Promise<OfAppend[]> {
    const detached: OfAppend[] = [];
    let left = messages;
    for (let round = 0; left.length > 0; round += 1) {
      if (round === ROUNDS) throw new Error("The same messages were settled and detached again and again");
      const busy: OfAppend[] = [];
      for (const [append, own] of byAppend(left)) {
        (await appends.detach(append, own)) ? detached.push(...own) : busy.push(...own);
      }
      if (busy.length > 0) await settlements.finish(await appends.takenOf(busy));
      left = busy.length > 0 ? await found(busy) : [];
    }
    await atStep("detached");
    return detached;
  }

  async function found(messages: readonly { readonly _id: string }[]): Promise<OfAppend[]> {
    const there: OfAppend[] = [];
    for (const piece of piecesOf(messages.map(({ _id }) => _id))) {
      there.push(...(await pending.find({ _id: oneOf(piece) }, { projection: { append: 1 } }).toArray()));
    }
    return there;
  }

  /** Puts them in place of those that are there; resolves with those that were put. */
  async function replace(documents: readonly PendingDocument[]): Promise<PendingDocument[]> {
    const before = new Map((await detach(await found(documents))).map(({ _id, append }) => [_id, append]));
    const put: PendingDocument[] = [];
    for (const document of documents) {
      const append = before.get(document._id);
      if (append === undefined) continue;
      const { _id, ...content } = document;
      if ((await pending.replaceOne({ _id, append }, content)).matchedCount > 0) put.push(document);
    }
    return put;
  }

  return {
    async append(messages) {
      if (messages.length === 0) return;
      const append = await appends.begin(latestOf(messages));
      await atStep("begun");
      const kept: PendingDocument[] = [];
      let left = messages.map((message) => pendingDocument(message, append));
      for (let round = 0; left.length > 0; round += 1) {
        if (round === ROUNDS) throw new Error("The same messages were appended and removed again and again");
        const there = await pending.insertMany(left, { ordered: false }).then(() => new Set<number>(), duplicatesOf);
        kept.push(...left.filter((_, index) => !there.has(index)));
        const refused = left.filter((_, index) => there.has(index));
        const put = refused.length > 0 ? await replace(refused) : [];
        kept.push(...put);
        // What was settled or removed in between is tried again: what is settled is met in the archive later.
        left = refused.filter((document) => !put.includes(document));
      }
      recent.add(append, kept);
    },

    async remove(messages) {
      for (const [append, own] of byAppend(await detach(messages))) {
        for (const piece of piecesOf(own)) {
          await pending.deleteMany({ _id: oneOf(piece.map(({ _id }) => _id)), append });
        }
      }
    },
  };
}
