import type { Experience, Mark, Segment } from "../catalogue/ports.js";
import type { Deletion } from "../deletions/deletion.js";
import type { OutboxRow } from "../entities/outbox.js";
import type { HistoryMessage, IdempotentRequest } from "../entities/ports.js";
import type { EntityId, SegmentDeletion, StoredEntity } from "../entities/profile/entity.js";
import type { ApiKey } from "../keys/api-key.js";
import type { SeriesStore, SeriesWindow } from "../metrics/ports.js";
import type { AddedPoint, AddedPoints, Series } from "../metrics/series.js";

/** Records of the engines in the form in which they are copied. */
export interface CopyRecords {
  readonly deletions: DeletionRecord;
  readonly "erased identities": ErasedIdentityRecord;
  readonly "entity keys": EntityKeyRecord;
  readonly entities: StoredEntity;
  readonly identities: IdentityRecord;
  readonly history: HistoryMessage;
  readonly "lasting message ids": CopyRecord;
  readonly "stream counts": StreamCountRecord;
  readonly streams: StreamRecord;
  readonly segments: Segment;
  readonly "deleted segments": DeletedSegmentRecord;
  readonly experiences: Experience;
  readonly marks: Mark;
  readonly "hook events": OutboxRow;
  readonly "API keys": ApiKey;
  readonly "repeatable requests": IdempotentRequest;
  readonly "repeatable deletions": IdempotentRequest;
}

export type Part = keyof CopyRecords;

export interface CopyRecord {
  readonly id: string;
}

/** `id` is the request id. */
export interface DeletionRecord extends CopyRecord {
  readonly sequence: number;
  readonly deletion: Deletion;
}

/** `id` is the hash. The newest cut-off (Unix ms), and the id and number of the newest request over the identity. */
export interface ErasedIdentityRecord extends CopyRecord {
  readonly cutOff: number;
  readonly request: string;
  readonly sequence: number;
}

/** `id` is the entity's; a record without `key` was destroyed. */
export interface EntityKeyRecord extends CopyRecord {
  readonly key: Uint8Array | undefined;
}

/** `id` is the hash; `entity` its profile. */
interface IdentityRecord extends CopyRecord {
  readonly entity: EntityId;
}

/** `unsaved`: whether the count was never saved, or has grown since. */
export interface StreamCountRecord {
  readonly stream: string;
  readonly slot: number;
  readonly count: number;
  readonly unsaved: boolean;
}

/** `id` is the stream's name. */
export interface StreamRecord extends CopyRecord {
  readonly lastArrival: number;
}

/** The last deletion of a segment. */
export type DeletedSegmentRecord = CopyRecord & SegmentDeletion;

/** Single numbers in addition to the records. */
export interface CopyFacts {
  /** Number of the newest deletion ever accepted. */
  readonly sequence: number;
  /** Number up to which all deletions are erased in the data. */
  readonly watermark: number;
  /** Generation of the newest deletion of any segment. */
  readonly segmentDeletions: number;
  /** The wrapped key of receipts; absent before its first use. */
  readonly receiptKey?: string | undefined;
  /** The state of alerts; absent before their first evaluation. */
  readonly alerts?: string | undefined;
}

/** Records of one part, read in batches. */
export interface PartSource<R = unknown> {
  count(): Promise<number>;
  all(): AsyncIterable<R[]>;
}

/** Records of one part that is written, and read again. */
export interface PartTarget<R = unknown> {
  /** Returns a record as `all` yields it. */
  documentOf(record: R): object;
  all(): AsyncIterable<object[]>;
  /** Stores new records. Resolves when they survive a crash. */
  add(records: readonly R[]): Promise<void>;
}

/** Profiles and related data, locked against writes while this is open. */
export interface ProfileSource {
  /** Permanent random id of this store. */
  readonly mark: string;
  /** Fingerprint of its pepper; undefined: it was never used. */
  readonly pepper: string | undefined;
  readonly facts: CopyFacts;
  readonly parts: { readonly [P in Part]: PartSource<CopyRecords[P]> };
}

/** An engine for profiles that is being filled. No service starts on it until the copy is complete. */
export interface ProfileTarget {
  readonly parts: { readonly [P in Part]: PartTarget<CopyRecords[P]> };
  /**
   * Marks an empty store as being filled from the source of this mark. If the store already has that mark, an earlier
   * copy was interrupted: empties the store. Throws a `StartError` if it is in use, or is being filled from another
   * source.
   */
  begin(mark: string): Promise<void>;
  setFacts(facts: CopyFacts): Promise<void>;
  facts(): Promise<CopyFacts>;
  /** Allows services to use the store from now on. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** Receives an added point of a series. */
export type TakeAdded = (series: Series, point: AddedPoint) => void;

/** Series, locked against writes while this is open. */
export interface SeriesSource {
  /** Permanent random id of this store. */
  readonly mark: string;
  readonly series: SeriesStore;
  /**
   * Yields every window in which a source may have values. The windows of a batch have the same times and are read at
   * once.
   */
  windows(): Iterable<SeriesWindow[]>;
  /** Slots that start before it (Unix ms) are settled or have no added points: their sums are copied. */
  readonly settled: number;
  /** Yields the added points of the other slots, in batches. */
  added(): Iterable<AddedPoints[]>;
}

/** An engine for series that is being filled. */
export interface SeriesTarget {
  readonly series: SeriesStore;
  /** Passes the added points of windows, which do not overlap, to `take`: each once, in no order. */
  eachAdded(windows: readonly SeriesWindow[], take: TakeAdded): Promise<void>;
  /** The store's own retention, ms; undefined: unlimited. */
  retentionMs(): number | undefined;
  /** Like `ProfileTarget.begin`. */
  begin(mark: string): Promise<void>;
  finish(): Promise<void>;
  close(): Promise<void>;
}
