import { factsOfMessage, noFacts } from "../../segments/stream-facts.js";
import type { LedgerPosition } from "../ports.js";
import type { Version } from "./entity.js";
import type { EntityDocument, Json } from "./entity-document.js";
import type { Table } from "./entity-tables.js";
import type { Identity, IdentityHash } from "./identity.js";

/** Segments in a message: the full list (`full`, in `add`), or the segments entered and left. */
export interface SegmentUpdates {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly full: boolean;
}

/** A validated message in normal form. */
export interface Message {
  /** At least one, without duplicates, the strongest field first and within a field as sent. */
  readonly identities: readonly Identity[];
  /** Values by name; null removes the attribute. */
  readonly attributes: readonly (readonly [name: string, value: Json])[];
  readonly segments: SegmentUpdates | undefined;
  /** The message as sent. */
  readonly body: { readonly [name: string]: Json };
  /** Id in the history if the sender named the message: one that was stored once is never stored again. */
  readonly lastingId?: string | undefined;
  /** Whether the message does not count for its stream: it is a part of another one. */
  readonly isUncounted?: boolean;
}

/** Returns all segments that a message names. */
export function segmentsNamedIn({ segments }: Message): readonly string[] {
  return segments === undefined ? [] : [...segments.add, ...segments.remove];
}

/** Converts a message to a document with one version and one stream. */
export function documentOf({ message, version, stream }: BatchMessage): EntityDocument {
  const { attributes, identities } = message;
  return {
    attributes: new Map(attributes.map(([name, value]) => [name, { version, value: value ?? undefined }])),
    identities,
    streams: [stream],
    facts: new Map([[stream, message.isUncounted ? noFacts : factsOfMessage(version.time)]]),
    modified: undefined,
  };
}

/** Encodes a message for encryption. */
export function encodeMessage({ body, isUncounted }: Message): Uint8Array {
  return Buffer.from(JSON.stringify({ body, isUncounted }));
}

/** Decodes the message as sent from the bytes of `encodeMessage`. */
export function decodeMessage(bytes: Uint8Array): object {
  return parse(bytes).body;
}

/**
 * Returns whether the message of these bytes counts for its stream. Version 1.0.0 did not store this: the body of an
 * account's part of a call is recognised by its names.
 */
export function isCounted(bytes: Uint8Array): boolean {
  const { body, isUncounted = Object.keys(body).join() === "type,groupId,traits" } = parse(bytes);
  return !isUncounted;
}

function parse(bytes: Uint8Array): Pick<Message, "body" | "isUncounted"> {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
}

/** A message of a request, to be applied to profiles. */
export interface BatchMessage {
  /**
   * Id in the history: 32 lower-case hex characters, the same when it is sent again under an idempotency key or under
   * its own name.
   */
  readonly id: string;
  /**
   * Position of the ledger since which the message may be stored: an earlier run of its request under the same
   * idempotency key, or a failed commit, may have stored it. A later deletion may have erased it. Undefined: it is not
   * stored.
   */
  readonly possiblyStoredSince: LedgerPosition | undefined;
  readonly version: Version;
  /** Share of a batch: see `weightOf`. */
  readonly weight: number;
  readonly message: Message;
  readonly table: Table;
  readonly stream: string;
  /** Hashes of its identities, in the same order. */
  readonly hashes: readonly IdentityHash[];
  /** Aborts when its request is abandoned; no commit of it begins afterwards. */
  readonly late: AbortSignal;
}
