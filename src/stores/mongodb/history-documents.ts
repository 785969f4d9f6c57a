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

/** A message that is pending, or on its way to the archive: `batch` names the settlement that has taken it. */
export interface PendingDocument extends Omit<ArchivedDocument, "batch"> {
  readonly hashes: readonly string[];
  /** Names the call that wrote it: what is appended again is another one. */
  readonly append: string;
  readonly batch: string | null;
}

/** Messages that are to be settled and counted together. There while any of it may be undone. */
export interface SettlementDocument {
  readonly _id: string;
  /** Whose it is; the settlements of a lane follow one another. */
  readonly lane: string;
  /** 1, 2, 3 … in its lane. */
  readonly seq: number;
  readonly ids: readonly string[];
  /** Of these messages, those that these calls wrote. */
  readonly appends: readonly string[];
  /** The latest arrival among them. */
  readonly arrival: number;
}

/** What is pending is kept apart, so that nothing but the settling of a message touches the archive, which grows for ever. */
export const historyCollections: readonly CollectionPlan[] = [
  {
    name: "pending_messages",
    indexes: [{ key: { arrival: 1, position: 1 } }, { key: { hashes: 1 } }, { key: { entity: 1 } }],
  },
  { name: "messages", indexes: [{ key: { entity: 1 } }, { key: { arrival: 1 } }] },
  { name: "settlements", indexes: [] },
];

export interface HistoryDocuments {
  readonly pending: Collection<PendingDocument>;
  readonly archive: Collection<ArchivedDocument>;
  readonly settlements: Collection<SettlementDocument>;
}

export function historyDocuments(db: Db): HistoryDocuments {
  return {
    pending: db.collection("pending_messages"),
    archive: db.collection("messages"),
    settlements: db.collection("settlements"),
  };
}

export function pendingDocument({ id, sealed, ...rest }: HistoryMessage, append: string): PendingDocument {
  return { _id: id, ...rest, sealed: new Binary(sealed), append, batch: null };
}

export function archivedDocument(document: PendingDocument, batch: string): ArchivedDocument {
  const { hashes: _, append: __, ...rest } = document;
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
