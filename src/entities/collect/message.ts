import type { Version } from "../profile/entity.js";
import type { EntityDocument, Json } from "../profile/entity-document.js";
import type { Table } from "../profile/entity-tables.js";
import { type Identity, type IdentityHash, valuesByField } from "../profile/identity.js";

/** What a message says of segments: the full list (`full`, in `add`), or the ones entered and left. */
export interface SegmentStatement {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly full: boolean;
}

/** What a message says of an entity, checked and in normal form. */
export interface Message {
  /** At least one, each once. */
  readonly identities: readonly Identity[];
  /** By name; null removes the attribute. */
  readonly attributes: readonly (readonly [name: string, value: Json])[];
  readonly segments: SegmentStatement | undefined;
  /** The message as it was sent; absent: what the other fields say stands for it. */
  readonly body?: { readonly [name: string]: Json };
}

/** The segments that a message says anything of. */
export function segmentsNamedIn({ segments }: Message): readonly string[] {
  return segments === undefined ? [] : [...segments.add, ...segments.remove];
}

/** The attributes and identities of a message, as a document with one version, from one stream. */
export function documentOf({ message, version, stream }: BatchMessage): EntityDocument {
  const { attributes, identities } = message;
  return {
    attributes: new Map(attributes.map(([name, value]) => [name, { version, value: value ?? undefined }])),
    identities,
    streams: [stream],
    modified: undefined,
  };
}

/** The bytes to seal. */
export function encodeMessage(message: Message): Uint8Array {
  return Buffer.from(JSON.stringify({ body: message.body ?? bodyOf(message) }));
}

/** The message as it was sent, of bytes that `encodeMessage` made. */
export function decodeMessage(bytes: Uint8Array): object {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()).body;
}

function bodyOf({ identities, attributes, segments }: Message): { readonly [name: string]: Json } {
  const named = Array.from(valuesByField(identities), ([field, values]): [string, Json] => [field, oneOrAll(values)]);
  const said = segments && (segments.full ? segments.add : { add: segments.add, remove: segments.remove });
  const entries: (readonly [string, Json])[] = [...named, ...attributes];
  return Object.fromEntries(said === undefined ? entries : [...entries, ["segments", said]]);
}

/** A text, or an array of them when there are several: how an identity field is written. */
export function oneOrAll(values: readonly string[]): Json {
  return values.length === 1 ? (values[0] as string) : values;
}

/** A message of a request. */
export interface NewMessage {
  /** Names it in the history: 32 lower-case hex characters, the same when it is sent again under an idempotency key. */
  readonly id: string;
  /**
   * Whether its request arrived before under the same idempotency key: it may be in the history, or an erasure may have removed it from
   * there.
   */
  readonly isRepeat: boolean;
  readonly version: Version;
  /** Memory that it takes, by estimate. */
  readonly bytes: number;
  readonly message: Message;
}

/** A message on its way into the profiles. */
export interface BatchMessage extends NewMessage {
  readonly table: Table;
  readonly stream: string;
  /** Of its identities, in their order. */
  readonly hashes: readonly IdentityHash[];
  /** Aborts when its request is given up: then no commit of it begins. */
  readonly late: AbortSignal | undefined;
}
