import type { Version } from "./entity.js";
import type { Identity } from "./identity.js";

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What an attribute is, or that it was removed (`value` undefined), since when. */
export interface AttributeState {
  readonly version: Version;
  readonly value: Json | undefined;
}

/** What is personal about an entity, as it is sealed. */
export interface EntityDocument {
  /** By name; removed ones too, so that an older event cannot bring them back. */
  readonly attributes: ReadonlyMap<string, AttributeState>;
  /** Identities as written, each once, ordered by field, then value. */
  readonly identities: readonly Identity[];
  /** Names of the streams of its messages, in code unit order. */
  readonly streams: readonly string[];
  /** Arrival of the newest message that changed the entity; undefined when none has been noted. */
  readonly modified: number | undefined;
}

/** A document, and how long its encoded form is. */
export interface OpenedDocument {
  readonly document: EntityDocument;
  readonly bytes: number;
}

type EncodedAttribute = [name: string, time: number, arrival: number, position: number, value?: Json];

/** The bytes to seal. */
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

/** What an attribute takes up in the encoded document. */
export function encodedBytes(name: string, state: AttributeState): number {
  return Buffer.byteLength(JSON.stringify(encodeAttribute([name, state]))) + 1;
}

function encodeAttribute([name, { version, value }]: readonly [string, AttributeState]): EncodedAttribute {
  const { time, arrival, position } = version;
  return value === undefined ? [name, time, arrival, position] : [name, time, arrival, position, value];
}

/** The document of bytes that `encodeDocument` made. */
export function decodeDocument(bytes: Uint8Array): EntityDocument {
  const {
    attributes,
    identities,
    streams = [],
    modified,
  } = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as {
    attributes: EncodedAttribute[];
    identities: [string, string][];
    streams?: string[];
    modified?: number;
  };
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
