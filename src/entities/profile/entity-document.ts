import { noFacts, type StreamFacts } from "../../segments/stream-facts.js";
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
  /** Facts about its messages by stream; absent for a stream of a profile of version 1.0.0: see `withFacts`. */
  readonly facts: ReadonlyMap<string, StreamFacts>;
  /** Arrival of the newest message that changed the entity; undefined if none was recorded. */
  readonly modified: number | undefined;
}

/** A document and the length of its encoded form, without facts. */
export interface DecodedDocument {
  readonly document: EntityDocument;
  readonly bytes: number;
}

/** Memory of a decoded document per byte of its encrypted form: an upper bound for V8. */
export const DECODED_BYTES = 10;

type EncodedAttribute = [name: string, time: number, arrival: number, position: number, value?: Json];

type EncodedFacts = [stream: string, count: number, first?: number, newest?: readonly number[]];

/** Encodes a document for encryption: two lines of JSON, the second one with the facts. */
export function encodeDocument({ attributes, identities, streams, facts, modified }: EntityDocument): Uint8Array {
  const document = {
    attributes: Array.from(attributes, encodeAttribute),
    identities: identities.map(({ field, value }) => [field, value]),
    streams,
    modified,
  };
  return Buffer.from(`${JSON.stringify(document)}\n${JSON.stringify(Array.from(facts, encodeFacts))}`);
}

function encodeFacts([stream, { count, first, newest }]: readonly [string, StreamFacts]): EncodedFacts {
  return count === 0 ? [stream, 0] : [stream, count, first, newest];
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

/** Decodes the bytes of `encodeDocument`, or of version 1.0.0, which stored no facts. */
export function decodeDocument(bytes: Uint8Array): EntityDocument {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = documentBytes(bytes);
  const {
    attributes,
    identities,
    streams = [],
    modified,
  } = JSON.parse(text.toString("utf8", 0, end)) as EncodedDocument;
  const facts = end === bytes.length ? [] : (JSON.parse(text.toString("utf8", end)) as EncodedFacts[]);
  return {
    attributes: new Map(
      attributes.map(([name, time, arrival, position, value]) => [
        name,
        { version: { time, arrival, position }, value },
      ]),
    ),
    identities: identities.map(([field, value]) => ({ field, value })),
    streams,
    facts: new Map(
      facts.map(([stream, count, first, newest]) => [
        stream,
        first === undefined || newest === undefined ? noFacts : { count, first, newest },
      ]),
    ),
    modified,
  };
}

/** Returns the bytes of an encoded document without its facts. */
export function documentBytes(bytes: Uint8Array): number {
  const end = bytes.indexOf(LINE_END);
  return end === -1 ? bytes.length : end;
}

const LINE_END = 10;
