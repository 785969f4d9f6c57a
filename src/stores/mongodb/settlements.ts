import { randomBytes } from "node:crypto";
import type { Db } from "mongodb";
import type { SlotCount } from "../../metrics/slot-counts.js";
import { duplicatesOf, oneOf } from "./collection.js";
import {
  archivedDocument,
  FILTER_VALUES,
  type HistoryDocuments,
  historyDocuments,
  type PendingDocument,
  piecesOf,
  type SettlementDocument,
} from "./history-documents.js";
import { type CountOnce, countOnce } from "./slot-counts.js";

/** Steps of a settlement, each durable when it is passed. */
export type SettlementStep = "kept" | "marked" | "archived" | "counted" | "removed";

/** Told of each step as it is passed; a test holds or ends a process there. */
export type AtStep = (step: SettlementStep) => void | Promise<void>;

interface Waiting {
  readonly ids: readonly string[];
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Moves messages from the pending ones to the archive and counts each once, whoever dies or sleeps in between, without a
 * transaction:
 *
 * 1. A settlement names the messages. From here on anybody can finish it.
 * 2. The messages are marked as taken by it. A message is taken by one settlement alone, and none can be added after
 *    somebody has marked them all: so everybody who finishes it finds the same messages.
 * 3. They go into the archive. One that is there under another settlement was counted by that one, and is left out.
 * 4. They are counted. A count remembers, for each lane, the last settlement that it holds. Those of a lane come one after
 *    the other, so whoever wakes up late finds its settlement counted, or a later one.
 * 5. They are removed from the pending ones, and 6. the settlement goes.
 *
 * A lane in which anything failed is left: what it began is finished by others, and a new lane begins.
 */
export class Settlements {
  readonly #documents: HistoryDocuments;
  readonly #count: CountOnce;
  readonly #slotMs: number;
  readonly #atStep: AtStep;
  #lane = newLane();
  #seq = 0;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(db: Db, slotMs: number, atStep: AtStep) {
    this.#documents = historyDocuments(db);
    this.#count = countOnce(db);
    this.#slotMs = slotMs;
    this.#atStep = atStep;
  }

  /** Settles those that are pending. Calls that come while one is under way are settled together. */
  async settle(ids: readonly string[]): Promise<void> {
    for (const piece of piecesOf([...new Set(ids)])) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ ids: piece, resolve, reject });
        void this.#run();
      });
    }
  }

  /** Finishes settlements that arrived before `before`. */
  async finishBefore(before: number): Promise<void> {
    const { settlements } = this.#documents;
    const found = await settlements
      .find({ arrival: { $lt: before } })
      .sort({ arrival: 1 })
      .toArray();
    for (const settlement of found) await this.#finish(settlement, undefined);
  }

  /** Finishes the settlements that have taken these messages. */
  async finishFor(messages: readonly Pick<PendingDocument, "batch">[]): Promise<void> {
    for (const batch of new Set(messages.flatMap((message) => message.batch ?? []))) {
      const settlement = await this.#documents.settlements.findOne({ _id: batch });
      if (settlement !== null) await this.#finish(settlement, undefined);
    }
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let calls = this.#next(); calls.length > 0; calls = this.#next()) {
      try {
        await this.#settleNow([...new Set(calls.flatMap(({ ids }) => ids))]);
        for (const { resolve } of calls) resolve();
      } catch (error) {
        this.#lane = newLane();
        this.#seq = 0;
        for (const { reject } of calls) reject(error);
      }
    }
    this.#isRunning = false;
  }

  /** The calls that are settled together next. */
  #next(): Waiting[] {
    let size = 0;
    const end = this.#waiting.findIndex(({ ids }) => {
      size += ids.length;
      return size > FILTER_VALUES;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #settleNow(ids: readonly string[]): Promise<void> {
    const { pending, settlements } = this.#documents;
    const found = await pending.find({ _id: oneOf(ids) }).toArray();
    const free = found.filter(({ batch }) => batch === null);
    if (free.length > 0) {
      this.#seq += 1;
      const settlement: SettlementDocument = {
        _id: `${this.#lane}:${this.#seq}`,
        lane: this.#lane,
        seq: this.#seq,
        ids: free.map(({ _id }) => _id),
        appends: [...new Set(free.map(({ append }) => append))],
        arrival: Math.max(...free.map(({ arrival }) => arrival)),
      };
      await settlements.insertOne(settlement);
      await this.#atStep("kept");
      await this.#finish(settlement, free);
    }
    await this.#settledByOthers(found);
  }

  /** What others had taken is not settled before they, or we, have counted it. */
  async #settledByOthers(found: readonly PendingDocument[]): Promise<void> {
    const taken = found.filter(({ batch }) => batch !== null);
    if (taken.length > 0) await this.finishFor(taken);
  }

  /** Safe to repeat, and for several at once. `free`: its messages, as they were before they were marked. */
  async #finish(settlement: SettlementDocument, free: readonly PendingDocument[] | undefined): Promise<void> {
    const { pending, settlements } = this.#documents;
    const { _id: batch, lane, seq, ids } = settlement;
    const taken = await this.#mark(settlement, free);
    await this.#atStep("marked");
    if (taken.length > 0) {
      const own = await this.#archive(batch, taken);
      await this.#atStep("archived");
      await this.#count(this.#partsOf(own), lane, seq);
      await this.#atStep("counted");
      await pending.deleteMany({ _id: oneOf(ids), batch });
      await this.#atStep("removed");
    }
    await settlements.deleteOne({ _id: batch });
  }

  /** Marks what is still pending of them; all that the settlement has taken. */
  async #mark(
    { _id: batch, ids, appends }: SettlementDocument,
    free: readonly PendingDocument[] | undefined,
  ): Promise<readonly PendingDocument[]> {
    const { pending } = this.#documents;
    const unmarked = { _id: oneOf(ids), append: oneOf(appends), batch: null };
    const { matchedCount } = await pending.updateMany(unmarked, { $set: { batch } });
    if (matchedCount === free?.length) return free;
    return pending.find({ _id: oneOf(ids), batch }).toArray();
  }

  /** Brings them into the archive; hands out those that no other settlement has counted, and removes the others. */
  async #archive(batch: string, taken: readonly PendingDocument[]): Promise<readonly PendingDocument[]> {
    const { pending, archive } = this.#documents;
    const refused = await archive
      .insertMany(
        taken.map((message) => archivedDocument(message, batch)),
        { ordered: false },
      )
      .then(() => new Set<number>(), duplicatesOf);
    if (refused.size === 0) return taken;
    const kept = taken.filter((_, index) => refused.has(index)).map(({ _id }) => _id);
    const before = await archive.find({ _id: oneOf(kept) }, { projection: { batch: 1 } }).toArray();
    const others = new Set(before.filter((message) => message.batch !== batch).map(({ _id }) => _id));
    // Before anything is counted, so that they cannot be taken for this settlement's own once the archive forgets them.
    if (others.size > 0) await pending.deleteMany({ _id: oneOf([...others]), batch });
    return taken.filter(({ _id }) => !others.has(_id));
  }

  #partsOf(messages: readonly PendingDocument[]): SlotCount[] {
    const parts = new Map<string, SlotCount>();
    for (const { stream, time } of messages) {
      const slot = Math.floor(time / this.#slotMs) * this.#slotMs;
      const key = `${slot}/${stream}`;
      parts.set(key, { stream, slot, count: (parts.get(key)?.count ?? 0) + 1 });
    }
    return [...parts.values()];
  }
}

function newLane(): string {
  return randomBytes(8).toString("hex");
}
