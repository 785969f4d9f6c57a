import { invalid, type ValidationIssue } from "../../errors.js";
import { instantForms, parseInstant } from "../../formats/instant.js";
import { dimensionIdRule, isDimensionId, RESERVED_SEGMENT_IDS, reservedSegmentIds } from "../../reserved-names.js";
import { hasAtMost } from "../../text.js";
import type { Json } from "../profile/entity-document.js";
import { type IdentityField, type Table, tooManyValues } from "../profile/entity-tables.js";
import { type Identity, identityField, identityKey, identityOf } from "../profile/identity.js";
import type { Message, SegmentUpdates } from "../profile/message.js";

/** Rules for the messages of one request. */
export interface MessageRules {
  readonly table: Table;
  /** The only identity field that messages may name; undefined: every field of the table. */
  readonly onlyField: string | undefined;
  /** Name of the attribute with the event time. */
  readonly timestampField: string | undefined;
  /** Maximum levels of nesting, including the message itself. */
  readonly nesting: number;
}

export interface ParsedMessage extends Message {
  /** Event time, Unix ms; undefined when the message has none. */
  readonly time: number | undefined;
  /** The stream that it counts for; undefined: the stream of the request. */
  readonly stream?: string | undefined;
}

/** Maximum ms that a sender's clock may be ahead. */
const AHEAD_MS = 600_000;

const MAX_NAME_LENGTH = 256;

/** More attributes do not fit into an entity, however small they are. */
export const MAX_NAMES = 25_000;

/**
 * Maximum estimated memory of a parsed message, bytes. A parsed byte takes at most 33, so a larger message does not fit
 * into an entity.
 */
export const MESSAGE_MEMORY_BYTES = 33 * 1_048_576;

/**
 * Parses a message; repeated calls return the same. Throws `invalid` with one issue, whose path is an identity field,
 * `timestampField` or empty.
 */
export function parseMessage(json: unknown, rules: MessageRules): ParsedMessage {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalid("not_an_object", "", "A message must be an object");
  }
  const names = Object.keys(json);
  if (names.length > MAX_NAMES) throw invalid("too_many_names", "", `A message has at most ${MAX_NAMES} attributes`);
  const issue = jsonIssue(json, rules.nesting);
  if (issue !== undefined) throw valueError(issue, json as Record<string, Json>, rules);

  const attributes: [string, Json][] = [];
  for (const name of names) {
    if (name === "segments" || identityField(rules.table, name) !== undefined) continue;
    attributes.push([checkedName(name), (json as Record<string, Json>)[name] as Json]);
  }
  return {
    identities: parseIdentities(json, rules),
    attributes,
    segments: parseSegments(ownValue(json, "segments")),
    time: eventTimeOf(json, rules),
    body: json as { readonly [name: string]: Json },
  };
}

function parseIdentities(json: object, { table, onlyField }: MessageRules): readonly Identity[] {
  const identities = new Map<string, Identity>();
  for (const name of table.strongestFirst) {
    const value = ownValue(json, name);
    if (value === undefined) continue;
    const values = Array.isArray(value) ? (value as readonly Json[]) : [value];
    if (onlyField !== undefined && (name !== onlyField || values.length > 1)) {
      throw invalid("outside_bound", name, "The key allows one value of one identity field (bound by)");
    }
    if (values.length > table.maxValues) throw invalid("too_many_values", name, tooManyValues(table));
    for (const raw of values) {
      const identity = identityOf(table, identityField(table, name) as IdentityField, raw);
      identities.set(identityKey(identity), identity);
    }
  }
  if (identities.size > 0) return [...identities.values()];
  throw invalid("no_identity", "", `A message needs one of ${table.identities.map(({ name }) => name).join(", ")}`);
}

/** Returns the error for an issue of a message. It names the attribute only if the name is one of the service's own. */
function valueError({ code, message }: JsonIssue, json: Readonly<Record<string, Json>>, rules: MessageRules): Error {
  const names = Object.keys(json);
  const at = names.findIndex((name) => jsonIssue(json[name], rules.nesting - 1)?.code === code);
  const name = names[at];
  if (name === undefined) return invalid(code, "", message);
  if (name === "segments" || identityField(rules.table, name) !== undefined) return invalid(code, name, message);
  if (name === rules.timestampField) return invalid(code, "timestampField", message);
  return invalid(code, "", `${message} (attribute ${at + 1} of the message)`);
}

function checkedName(name: string): string {
  if (isAttributeName(name)) return name;
  throw invalid("invalid_name", "", `The name of an attribute has 1 to ${MAX_NAME_LENGTH} characters`);
}

/** Returns whether an attribute may have this name. */
export function isAttributeName(name: string): boolean {
  return name !== "" && hasAtMost(MAX_NAME_LENGTH, name);
}

const EVENT_TIME = "The event time (the attribute that timestamp_field names)";

function eventTimeOf(json: object, { timestampField }: MessageRules): number | undefined {
  if (timestampField === undefined) return undefined;
  const written = ownValue(json, timestampField);
  if (written === undefined || written === null) return undefined;
  // A time relative to now is refused, so that a repeat of the message has the same time.
  const instant = typeof written === "string" || typeof written === "number" ? parseInstant(written, 0) : undefined;
  if (instant === undefined || instant.relative || instant.at < 0) {
    throw invalid("invalid_time", "timestampField", `${EVENT_TIME} must be an ${instantForms}, since 1970`);
  }
  return instant.at;
}

/** Returns an issue when the event time is too far ahead of `now` (Unix ms); otherwise undefined. */
export function aheadIssue({ time }: Pick<ParsedMessage, "time">, now: number): ValidationIssue | undefined {
  if (time === undefined || time <= now + AHEAD_MS) return undefined;
  return { code: "time_ahead", path: "timestampField", message: `${EVENT_TIME} is more than 10 minutes ahead` };
}

function ownValue(json: object, name: string): Json | undefined {
  return Object.hasOwn(json, name) ? (json as Record<string, Json>)[name] : undefined;
}

/** Maximum segments per message. */
export const MAX_SEGMENTS = 1_000;

/** Parses the `segments` of a message. A list is the full list; absent or null means no update. */
function parseSegments(json: Json | undefined): SegmentUpdates | undefined {
  if (json === undefined || json === null) return undefined;
  if (Array.isArray(json)) return { add: idsOf(json), remove: [], full: true };
  if (typeof json !== "object" || Object.keys(json).some((name) => name !== "add" && name !== "remove")) {
    throw refuse('segments must be a list of ids, or { "add": [], "remove": [] }');
  }
  const { add, remove } = json as { add?: Json; remove?: Json };
  const update = { add: idsOf(add ?? []), remove: idsOf(remove ?? []), full: false };
  const removed = new Set(update.remove);
  if (update.add.some((id) => removed.has(id))) throw refuse("A segment is both added and removed");
  return update;
}

function idsOf(json: Json): readonly string[] {
  if (!Array.isArray(json)) throw refuse("The segments must be a list of ids");
  if (json.length > MAX_SEGMENTS) throw refuse(`A message names at most ${MAX_SEGMENTS} segments`);
  for (const id of json as readonly Json[]) {
    if (typeof id !== "string" || !isDimensionId(id) || RESERVED_SEGMENT_IDS.includes(id))
      throw refuse(`The id of a segment must be: ${dimensionIdRule}, not ${reservedSegmentIds}`);
  }
  return [...new Set(json as readonly string[])];
}

function refuse(message: string) {
  return invalid("invalid_segments", "segments", message);
}

type JsonIssue = Omit<ValidationIssue, "path">;

/**
 * Returns the issue of a JSON value that cannot be stored: nested more than `maxDepth` levels, not a finite number, or
 * a dangerous name.
 */
export function jsonIssue(value: unknown, maxDepth: number): JsonIssue | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : NOT_A_NUMBER;
  if (typeof value !== "object" || value === null) return undefined;
  if (maxDepth === 0) return { code: "too_deep", message: "The value is nested too deep" };
  if (!Array.isArray(value) && Object.hasOwn(value, "__proto__")) return DANGEROUS_NAME;
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    const issue = jsonIssue(child, maxDepth - 1);
    if (issue !== undefined) return issue;
  }
  return undefined;
}

const NOT_A_NUMBER = {
  code: "invalid_number",
  message: "An integer beyond 2^53 that a double cannot hold, or a number too large: send it as a string",
};
const DANGEROUS_NAME = { code: "invalid_name", message: "A name must not be __proto__" };
