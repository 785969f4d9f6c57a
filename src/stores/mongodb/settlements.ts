import { randomBytes } from "node:crypto";
import type { Db } from "mongodb";
import type { SlotCount } from "../../metrics/slot-counts.js";
import { duplicatesOf, oneOf } from "./collection.js";
import { type Appends, byAppend, hasTaken } from "./history-appends.js";
import {
  type AppendDocument,
  archivedDocument,
  type HistoryDocuments,
  historyDocuments,
  type PendingDocument,
  piecesOf,
} from "./history-documents.js";
import type { RecentMessages } from "./history-recent.js";
import { type CountOnce, countOnce } from "./slot-counts.js";

/** What has been made durable; a test holds or ends a process there. */
export type HistoryStep = "begun" | "detached" | "taken" | "archived" | "counted" | "removed";

export type AtStep = (step: HistoryStep) => void | Promise<void>;

export interface SettlementParts {
  readonly db: Db;
  readonly appends: Appends;
  readonly recent: RecentMessages;
  /** The slot of a stream. */
  readonly slotMs: number;
  readonly atStep: AtStep;
}

interface Lane {
  /** Begins with the number of the lane in its process. */
  readonly id: string;
  /** Of the settlement begun last. */
  seq: number;
}

/** So many settlements of a process are under way at once. */
const LANES = 4;

/** Each round needs somebody who settles, replaces or removes the same messages in that very moment. */
const ROUNDS = 20;

/**
 * Moves messages from the pending ones to the archive and counts each once, whichever process dies or sleeps in between:
 *
 * 1. One write to the document of their append takes them. From here on they are settled, anybody can finish it, and
 *    whoever does finds the same messages: nobody replaces or removes what is taken.
 * 2. They go into the archive. One that is there under another settlement was counted by that one, and counts for nothing.
 * 3. They are counted, and the append notes it, in one transaction: a process that resumes late finds the note, another settlement,
 *    or no append, and counts nothing.
 * 4. They are removed from the pending ones, and 5. the append is let go.
 *
 * A lane in which anything failed is left: what it began is finished by others, and a new lane takes its place.
 */
export class Settlements {
  readonly #parts: SettlementParts;
  readonly #documents: HistoryDocuments;
  readonly #count: CountOnce;
  readonly #free: Lane[] = Array.from({ length: LANES }, (_, number) => newLane(number));
  readonly #waiting: ((lane: Lane) => void)[] = [];

  constructor(parts: SettlementParts) {
    this.#parts = parts;
    this.#documents = historyDocuments(parts.db);
    this.#count = countOnce(parts.db);
  }

  /** Settles those that are pending. */
  async settle(ids: readonly string[]): Promise<void> {
    for (const piece of piecesOf([...new Set(ids)])) await this.#inLane((lane) => this.#settle(piece, lane));
  }

  /** Finishes what was begun. Safe to repeat, and for several at once. */
  async finish(taken: readonly AppendDocument[]): Promise<void> {
    for (const append of taken) await this.#finish(append, undefined);
  }

  async #inLane(work: (lane: Lane) => Promise<void>): Promise<void> {
    const lane = this.#free.pop() ?? (await new Promise<Lane>((resolve) => this.#waiting.push(resolve)));
    let next = newLane(numberOf(lane));
    try {
      await work(lane);
      next = lane;
    } finally {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#free.push(next);
      else waiting(next);
    }
  }

  async #settle(ids: readonly string[], lane: Lane): Promise<void> {
    const { messages, isWhole } = this.#parts.recent.take(ids);
    const known = new Set(messages.map(({ _id }) => _id));
    const unknown = ids.filter((id) => !known.has(id));
    for (const [append, own] of byAppend(messages)) await this.#settleOf(append, own, isWhole(append), lane);
    if (unknown.length === 0) return;
    const found = await this.#documents.pending.find({ _id: oneOf(unknown) }).toArray();
    for (const [append, own] of byAppend(found)) await this.#settleOf(append, own, false, lane);
  }

  /** Settles messages of one append. */
  async #settleOf(
    append: string,
    messages: readonly PendingDocument[],
    isWhole: boolean,
    lane: Lane,
    round = 0,
  ): Promise<void> {
    if (round === ROUNDS) throw new Error("The same messages were settled and detached again and again");
    const { appends } = this.#parts;
    lane.seq += 1;
    const part = isWhole ? null : messages.map(({ _id }) => _id);
    const taken = await appends.take(append, lane.id, lane.seq, part);
    if (taken === undefined) await this.finish(await appends.takenOf(messages));
    else {
      const own = messages.filter(({ _id }) => hasTaken(taken, _id));
      await this.#finish(taken, own);
      if (own.length === messages.length) return;
    }
    // Somebody has detached them and not removed them, or their append is gone, or it was another settlement's.
    const which = { _id: oneOf(messages.map(({ _id }) => _id)), append };
    const left = await this.#documents.pending.find(which).toArray();
    if (left.length === 0) return;
    const renewed = await appends.renew(left);
    const again = renewed.length < left.length ? await this.#documents.pending.find(which).toArray() : [];
    for (const [next, own] of byAppend([...renewed, ...again])) {
      await this.#settleOf(next, own, false, lane, round + 1);
    }
  }

  /** `own`: what it has taken, where that is known. */
  async #finish(taken: AppendDocument, own: readonly PendingDocument[] | undefined): Promise<void> {
    const { appends, atStep } = this.#parts;
    const { pending } = this.#documents;
    const { _id: append, lane, seq } = taken;
    if (lane === null) return;
    await atStep("taken");
    const messages = own ?? (await this.#takenBy(taken));
    if (messages.length > 0) {
      const counted = await this.#archive(`${lane}:${seq}`, messages);
      await atStep("archived");
      await this.#count(taken, lane.slice(0, 1), this.#partsOf(messages, counted));
      await atStep("counted");
      for (const piece of piecesOf(messages)) {
        await pending.deleteMany({ _id: oneOf(piece.map(({ _id }) => _id)), append });
      }
      await atStep("removed");
    }
    await appends.end(taken);
  }

  async #takenBy(taken: AppendDocument): Promise<PendingDocument[]> {
    const { _id: append, part } = taken;
    const which = part === null ? { append } : { _id: oneOf(part), append };
    const found = await this.#documents.pending.find(which).toArray();
    return found.filter(({ _id }) => hasTaken(taken, _id));
  }

  /** Brings them into the archive; hands out those that no other settlement has counted. */
  async #archive(batch: string, messages: readonly PendingDocument[]): Promise<ReadonlySet<PendingDocument>> {
    const { archive } = this.#documents;
    const refused = await archive
      .insertMany(
        messages.map((message) => archivedDocument(message, batch)),
        { ordered: false },
      )
      .then(() => new Set<number>(), duplicatesOf);
    if (refused.size === 0) return new Set(messages);
    const kept = messages.filter((_, index) => refused.has(index)).map(({ _id }) => _id);
    const before = await archive.find({ _id: oneOf(kept) }, { projection: { batch: 1 } }).toArray();
    const others = new Set(before.filter((message) => message.batch !== batch).map(({ _id }) => _id));
    return new Set(messages.filter(({ _id }) => !others.has(_id)));
  }

  /** How many of them are counted, for each stream and slot that any of them belongs to. */
  #partsOf(messages: readonly PendingDocument[], counted: ReadonlySet<PendingDocument>): SlotCount[] {
    const { slotMs } = this.#parts;
    const parts = new Map<string, SlotCount>();
    for (const message of messages) {
      const { stream, time } = message;
      const slot = Math.floor(time / slotMs) * slotMs;
      const key = `${slot}/${stream}`;
      parts.set(key, { stream, slot, count: (parts.get(key)?.count ?? 0) + (counted.has(message) ? 1 : 0) });
    }
    return [...parts.values()];
  }
}

function newLane(number: number): Lane {
  return { id: `${number}${randomBytes(8).toString("hex")}`, seq: 0 };
}

function numberOf({ id }: Lane): number {
  return Number(id.slice(0, 1));
}
