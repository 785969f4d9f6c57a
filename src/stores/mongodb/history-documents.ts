import { Binary, type Collection, type Db } from "mongodb";
import type { HistoryMessage } from "../../entities/history.js";
import type { CollectionPlan } from "./collection.js";

/** A settled message. */
export interface ArchivedDocument {
  readonly _id: string;
  readonly table: string;
  readonly stream: string;
  readonly entity: string;
  readonly time: number;
  readonly arrival: number;
  readonly position: number;
  readonly sealed: Binary;
  /** The settlement that counts it. */
  readonly batch: string;
}

/** A message that is pending, or on its way to the archive. It does not change while it is of the same append. */
export interface PendingDocument extends Omit<ArchivedDocument, "batch"> {
  readonly hashes: readonly string[];
  /** The append that it is of. */
  readonly append: string;
  /** It cannot be applied, and is not tried any more. */
  readonly aside?: true;
}

/**
 * Messages that were appended together. A small document that stands for many: one write takes those that are to be settled.
 * A message whose append is not there is as one that is detached.
 */
export interface AppendDocument {
  readonly _id: string;
  /** The latest among its messages. */
  readonly arrival: number;
  /**
   * Ids of messages that are settled, or are to be removed or replaced: no later settlement of this append takes them, however
   * long ago it read them. None is added while it is taken.
   */
  readonly detached: readonly string[];
  /** Whose settlement has taken it; null: nobody's. */
  readonly lane: string | null;
  /** Number of that settlement in its lane: 1, 2, 3 … */
  readonly seq: number;
  /** Whether the settlement that has taken it is in the stream counts. */
  readonly counted?: boolean;
  /** Ids of the messages that are taken; null: all but the detached ones. */
  readonly part: readonly string[] | null;
}

/** What is pending is kept apart, so that nothing but the settling of a message touches the archive, which grows for ever. */
export const historyCollections: readonly CollectionPlan[] = [
  {
    name: "pending_messages",
    indexes: [
      { key: { arrival: 1, position: 1 } },
      { key: { hashes: 1 } },
      { key: { entity: 1 } },
      { key: { append: 1 } },
      { key: { aside: 1, arrival: 1 } },
    ],
  },
  { name: "appends", indexes: [{ key: { arrival: 1 } }] },
  { name: "messages", indexes: [{ key: { entity: 1 } }, { key: { arrival: 1 } }] },
];

export interface HistoryDocuments {
  readonly pending: Collection<PendingDocument>;
  readonly appends: Collection<AppendDocument>;
  readonly archive: Collection<ArchivedDocument>;
}

export function historyDocuments(db: Db): HistoryDocuments {
  return {
    pending: db.collection("pending_messages"),
    appends: db.collection("appends"),
    archive: db.collection("messages"),
  };
}

export function pendingDocument({ id, sealed, ...rest }: HistoryMessage, append: string): PendingDocument {
  return { _id: id, ...rest, sealed: new Binary(sealed), append };
}

export function archivedDocument(document: PendingDocument, batch: string): ArchivedDocument {
  const { hashes: _, append: __, aside: ___, ...rest } = document;
  return { ...rest, batch };
}

export function messageOf(document: PendingDocument): HistoryMessage {
  const { _id: id, table, stream, entity, hashes, time, arrival, position, sealed } = document;
  const bytes = Uint8Array.from(sealed.buffer.subarray(0, sealed.position));
  return { id, table, stream, entity, hashes, time, arrival, position, sealed: bytes };
}

/** The most values that one filter names. */
export const FILTER_VALUES = 1_000;

/** The values, in pieces of which each fits into a filter. */
export function* piecesOf<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += FILTER_VALUES) yield values.slice(from, from + FILTER_VALUES);
}
