import type { Version } from "./entity.js";
import type { Identity } from "./identity.js";

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Value of an attribute, or its removal (`value` undefined), with the version that set it. */
export interface AttributeState {
  readonly version: Version;
  readonly value: Json | undefined;
}

/** Personal data of an entity; stored encrypted. */
export interface EntityDocument {
  /** Attributes by name, including removed ones, so that an older event cannot restore them. */
  readonly attributes: ReadonlyMap<string, AttributeState>;
  /** Identities as written, without duplicates, ordered by field, then value. */
  readonly identities: readonly Identity[];
  /** Names of the streams of its messages, in code unit order. */
  readonly streams: readonly string[];
  /** Arrival of the newest message that changed the entity; undefined if none was recorded. */
  readonly modified: number | undefined;
}

/** A document and the length of its encoded form. */
export interface DecodedDocument {
  readonly document: EntityDocument;
  readonly bytes: number;
}

/** Memory of a decoded document per byte of its encrypted form: an upper bound for V8. */
export const DECODED_BYTES = 10;

type EncodedAttribute = [name: string, time: number, arrival: number, position: number, value?: Json];

/** Encodes a document for encryption. */
export function encodeDocument({ attributes, identities, streams, modified }: EntityDocument): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      attributes: Array.from(attributes, encodeAttribute),
      identities: identities.map(({ field, value }) => [field, value]),
      streams,
      modified,
    }),
  );
}

/** Returns the bytes of an attribute in the encoded document. */
export function encodedBytes(name: string, state: AttributeState): number {
  return Buffer.byteLength(JSON.stringify(encodeAttribute([name, state]))) + 1;
}

function encodeAttribute([name, { version, value }]: readonly [string, AttributeState]): EncodedAttribute {
  const { time, arrival, position } = version;
  return value === undefined ? [name, time, arrival, position] : [name, time, arrival, position, value];
}

interface EncodedDocument {
  readonly attributes: EncodedAttribute[];
  readonly identities: [string, string][];
  readonly streams?: string[];
  readonly modified?: number;
}

/** Decodes the bytes of `encodeDocument`. */
export function decodeDocument(bytes: Uint8Array): EntityDocument {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const { attributes, identities, streams = [], modified } = JSON.parse(text) as EncodedDocument;
  return {
    attributes: new Map(
      attributes.map(([name, time, arrival, position, value]) => [
        name,
        { version: { time, arrival, position }, value },
      ]),
    ),
    identities: identities.map(([field, value]) => ({ field, value })),
    streams,
    modified,
  };
}
