import {
  jsonIssue,
  type MessageRules,
  type ParsedMessage,
  parseMessage,
} from "../../entities/collect/parse-message.js";
import type { Json } from "../../entities/profile/entity-document.js";
import type { Table } from "../../entities/profile/entity-tables.js";
import { invalid } from "../../errors.js";
import { instantForms, parseInstant } from "../../formats/instant.js";

/** A call of Segment's API as sent, without its write key. */
type Call = Readonly<Record<string, Json>>;

/** Attributes by name, and values by identity field. */
interface Mapped {
  readonly attributes?: Readonly<Record<string, Json | undefined>>;
  readonly identities: Identities;
}

type Identities = Readonly<Record<string, readonly (Json | undefined)[]>>;

/** The messages that a call becomes. */
interface Mapping {
  /** The message of the person, which counts for the stream. */
  user(call: Call, isUserId: (value: Json) => boolean): Mapped;
  /** The message of the account, which does not count again. */
  account?(call: Call): Mapped;
}

const people = ({ userId, anonymousId }: Call): Identities => ({ user_id: [userId], _uid: [anonymousId] });

const identitiesAlone: Mapping = { user: (call) => ({ identities: people(call) }) };

/** Each type of call. */
const mappings = {
  identify: {
    user(call) {
      const attributes = traitsOf(call.traits ?? objectOf(call.context)?.traits);
      return { attributes, identities: { ...people(call), email: [attributes.email] } };
    },
  },
  track: identitiesAlone,
  page: identitiesAlone,
  screen: identitiesAlone,
  group: {
    user: (call) => ({ attributes: { account_id: call.groupId }, identities: people(call) }),
    account: (call) => ({ attributes: traitsOf(call.traits), identities: { account_id: [call.groupId] } }),
  },
  alias: {
    user({ userId, previousId = null }, isUserId) {
      if (isUserId(previousId)) return { identities: { user_id: [userId, previousId] } };
      return { identities: { user_id: [userId], _uid: [previousId] } };
    },
  },
} satisfies Record<string, Mapping>;

export type CallType = keyof typeof mappings;

export const callTypes = Object.keys(mappings) as readonly CallType[];

/** Attributes that are left out: a key in a page must not set memberships or join people. */
const IGNORED: readonly string[] = ["segments", "_uid", "user_id"];

/** Rules for all calls of one request. */
export interface CallRules {
  /** Rules for the tables `user` and `account`; `account` is undefined without such a table. */
  readonly user: MessageRules;
  readonly account: MessageRules | undefined;
  /** The only identity field that the key may use; undefined: all. */
  readonly by: string | undefined;
  /** Time of arrival, Unix ms. */
  readonly arrival: number;
  /** `sentAt` of the request. */
  readonly sentAt: unknown;
  /** Returns the lasting id of the message of a call with this `messageId` in a table. */
  lastingId(messageId: Json, table: string): string;
  /** Returns whether a person has this `user_id`. */
  isUserId(value: Json): boolean;
}

/** The messages of one call. */
export interface CallMessages {
  readonly user: ParsedMessage;
  readonly account: ParsedMessage | undefined;
}

/**
 * Translates a call into messages of collect. `type` is the one of its route; undefined for a call in a batch, which
 * names its own. Throws `invalid` with one issue.
 */
export function messagesOf(json: unknown, type: CallType | undefined, rules: CallRules): CallMessages {
  const sent = objectOf(json);
  if (sent === undefined) throw invalid("not_an_object", "", "A call must be an object");
  const { writeKey: _, ...call } = sent;
  const issue = jsonIssue(call, rules.user.nesting);
  if (issue !== undefined) throw invalid(issue.code, "", issue.message);
  const named = type ?? callTypes.find((one) => one === call.type);
  if (named === undefined) throw invalid("unknown_type", "type", `type must be one of ${callTypes.join(", ")}`);
  const mapping: Mapping = mappings[named];

  const time = eventTimeOf(call, rules);
  const { messageId } = call;
  const parse = (mapped: Mapped, of: MessageRules): ParsedMessage => {
    const lastingId = isGiven(messageId) ? rules.lastingId(messageId, of.table.name) : undefined;
    return { ...parseMessage(messageJson(mapped, of.table, rules), of), time, body: call, lastingId };
  };
  const user = parse(mapping.user(call, rules.isUserId), rules.user);
  const { account } = rules;
  if (mapping.account === undefined || account === undefined || !isWithin("account_id", rules)) {
    return { user, account: undefined };
  }
  // An account outlives its people: its message contains nothing of the person.
  const { traits = null, groupId = null } = call;
  const message = { ...parse(mapping.account(call), account), body: { type: named, groupId, traits } };
  return { user, account: { ...message, isUncounted: true } };
}

/** Returns the message of collect. Identity fields outside the bound of the key are left out. */
function messageJson({ attributes = {}, identities }: Mapped, { identities: fields }: Table, rules: CallRules): object {
  const entries = Object.entries<unknown>(attributes).filter(
    ([name, value]) => value !== undefined && !IGNORED.includes(name) && !fields.some((field) => field.name === name),
  );
  for (const { name } of fields) {
    if (isWithin(name, rules)) entries.push([name, (identities[name] ?? []).filter(isGiven)]);
  }
  return Object.fromEntries(entries);
}

/** SDKs send null or an empty text for an identity that they do not have. */
function isGiven<V extends Json>(value: V | undefined): value is Exclude<V, null> {
  return value !== undefined && value !== null && value !== "";
}

function isWithin(field: string, { by }: CallRules): boolean {
  return by === undefined || by === field;
}

function traitsOf(traits: Json | undefined): Record<string, Json> {
  if (traits === undefined || traits === null) return {};
  const all = objectOf(traits);
  if (all === undefined) throw invalid("invalid_traits", "traits", "traits must be an object");
  return all;
}

/**
 * Returns the event time of a call, corrected by the clock of its sender: that clock showed `sentAt` at the arrival.
 * Undefined for a call without a time.
 */
function eventTimeOf(call: Call, { arrival, sentAt }: CallRules): number | undefined {
  const written = call.timestamp ?? call.originalTimestamp ?? undefined;
  if (written === undefined) return undefined;
  const own = instantOf(written);
  const sent = instantOf(call.sentAt ?? sentAt);
  const time = own === undefined || sent === undefined ? own : arrival - (sent - own);
  if (time !== undefined && time >= 0) return time;
  throw invalid("invalid_time", "timestamp", `timestamp must be an ${instantForms}, since 1970`);
}

function instantOf(written: unknown): number | undefined {
  const instant = typeof written === "string" || typeof written === "number" ? parseInstant(written, 0) : undefined;
  return instant?.relative ? undefined : instant?.at;
}

function objectOf(json: unknown): Record<string, Json> | undefined {
  return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Record<string, Json>) : undefined;
}
