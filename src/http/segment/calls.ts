import { isAttributeName, MAX_NAMES, type ParsedMessage } from "../../entities/collect/parse-message.js";
import type { Json } from "../../entities/profile/entity-document.js";
import type { Table } from "../../entities/profile/entity-tables.js";
import { type Identity, identityField, identityKey, identityOf } from "../../entities/profile/identity.js";
import { isCommonNobody } from "../../entities/profile/nobody.js";
import { invalid, issueOf } from "../../errors.js";
import { hasAtMost } from "../../text.js";
import { eventTimeOf, isGiven } from "./event-time.js";
import { type LeaveOut, makeStorable } from "./storable.js";

/** The archived form of a call of Segment's API. */
export interface Call {
  readonly type: CallType;
  readonly body: Members;
}

type Members = Readonly<Record<string, Json>>;

/** An attribute, or an identity by its field. Undefined: the call does not have it. */
type Named = readonly [name: string, value: Json | undefined];

/** Contents of the message of a person, which counts for the stream. */
interface Mapped {
  readonly attributes?: Members;
  readonly identities: readonly Named[];
}

/** Each type of call. */
const mappings = {
  identify(call, { leaveOut }) {
    const attributes = objectIn(call.traits, leaveOut) ?? objectIn(membersOf(call.context)?.traits, leaveOut) ?? {};
    return { attributes, identities: [...people(call), ["email", attributes.email]] };
  },
  track: (call) => ({ identities: people(call) }),
  page: (call) => ({ identities: people(call) }),
  screen: (call) => ({ identities: people(call) }),
  group(call, rules) {
    const { groupId } = call;
    const isUsable = isGiven(groupId) && (rules.account === undefined || groupOf(call, rules) !== undefined);
    return { attributes: isUsable ? { account_id: groupId } : {}, identities: people(call) };
  },
  alias(call, rules) {
    const { userId, previousId, anonymousId } = call;
    const field = previousField(call, silently(rules));
    // An id that cannot be used is left out like any other, and the call then has none.
    const previous = field === undefined ? [previousId, anonymousId] : [previousId];
    return { identities: [["user_id", userId], ...previous.map((value): Named => [field ?? "_uid", value])] };
  },
} satisfies Record<string, (call: Members, rules: CallRules) => Mapped>;

function people({ userId, anonymousId }: Members): readonly Named[] {
  return [
    ["user_id", userId],
    ["_uid", anonymousId],
  ];
}

export type CallType = keyof typeof mappings;

export const callTypes = Object.keys(mappings) as readonly CallType[];

/** Attributes that are left out: a key in a page must not set memberships or join people. */
const IGNORED: readonly string[] = ["segments", "_uid", "user_id"];

/** Rules for all calls of one request. */
export interface CallRules {
  readonly user: Table;
  /** Undefined without such a table. */
  readonly account: Table | undefined;
  /** The only identity field that the key may use, with one value in a message; undefined: all. */
  readonly by: string | undefined;
  /** Time of arrival, Unix ms. */
  readonly arrival: number;
  /** `sentAt` of the request, Unix ms. */
  readonly sentAt: number | undefined;
  /** Returns the lasting id of the message of a call with this `messageId` in a table. */
  lastingId(messageId: string, table: string): string;
  /** Returns whether a person has this `user_id`. */
  isUserId(value: string): boolean;
  /** Reports a part of a call that is left out. */
  leaveOut(code: string): void;
}

/** The messages of one call: at least one. Only the first of two counts for the stream. */
export interface CallMessages {
  readonly user: ParsedMessage | undefined;
  readonly account: ParsedMessage | undefined;
}

/**
 * Takes over a parsed call, which it changes. `type` is the one of its route; undefined for a call in a batch, which
 * names its own. Throws `invalid` with one issue.
 */
export function callOf(json: unknown, type: CallType | undefined, nesting: number, leaveOut: LeaveOut): Call {
  const body = membersOf(json as Json);
  if (body === undefined) throw invalid("not_an_object", "", "A call must be an object");
  makeStorable(body, nesting, leaveOut);
  const named = type ?? callTypes.find((known) => known === body.type);
  if (named === undefined) throw invalid("unknown_type", "type", `type must be one of ${callTypes.join(", ")}`);
  return { type: named, body };
}

/** Returns the `user_id` that the `previousId` of a call may be; undefined if it is none. */
export function previousUserId({ type, body }: Call, rules: CallRules): string | undefined {
  if (type !== "alias" || rules.by !== undefined) return undefined;
  return identityIn(rules.user, "user_id", body.previousId, silently(rules))?.value;
}

/**
 * Translates a call into messages of collect. Leaves out the parts that cannot be used. Throws `invalid` when no
 * identity is left.
 */
export function messagesOf({ type, body }: Call, rules: CallRules): CallMessages {
  const { user, account, leaveOut } = rules;
  const time = eventTimeOf(body, rules.arrival, rules.sentAt, leaveOut);
  const messageId = messageIdOf(body, leaveOut);
  const messageOf = (table: Table, identities: readonly Identity[], attributes: Members): ParsedMessage | undefined => {
    if (identities.length === 0) return undefined;
    const lastingId = messageId === undefined ? undefined : rules.lastingId(messageId, table.name);
    const named = attributesOf(table, attributes, leaveOut);
    return { identities, attributes: named, segments: undefined, time, body, lastingId };
  };

  const mapping: (call: Members, rules: CallRules) => Mapped = mappings[type];
  const { attributes = {}, identities } = mapping(body, rules);
  const ofPerson = messageOf(user, identitiesOf(identities, rules), attributes);
  const group = type === "group" && isWithin("account_id", rules) ? groupOf(body, silently(rules)) : undefined;
  if (account === undefined || group === undefined) {
    if (ofPerson === undefined) throw invalid("no_identity", "", "A call needs an identity");
    return { user: ofPerson, account: undefined };
  }
  const { groupId = null, traits = null } = body;
  const ofAccount = messageOf(account, [group], objectIn(traits, leaveOut) ?? {});
  // An account outlives its people: its message contains nothing of the person.
  const archived = ofAccount && { ...ofAccount, body: { type, groupId, traits }, isUncounted: ofPerson !== undefined };
  return { user: ofPerson, account: archived };
}

/** Returns the rules without reports of what is left out, for a part that is looked at twice. */
function silently(rules: CallRules): CallRules {
  return { ...rules, leaveOut() {} };
}

/** Returns the account that a call names; undefined if it names none that can be used. */
function groupOf({ groupId }: Members, rules: CallRules): Identity | undefined {
  return rules.account && identityIn(rules.account, "account_id", groupId, rules);
}

/** Returns the identity field that `previousId` is a value of; undefined if it cannot be used. */
function previousField({ previousId }: Members, rules: CallRules): string | undefined {
  const { user, by, isUserId } = rules;
  const identity = (field: string) => identityIn(user, field, previousId, rules);
  if (by !== undefined) return identity(by)?.field;
  const userId = identity("user_id");
  return userId !== undefined && isUserId(userId.value) ? userId.field : identity("_uid")?.field;
}

/**
 * Returns the identities of a person without duplicates, the strongest field first. Fields outside the bound of the key
 * are no part of a call.
 */
function identitiesOf(named: readonly Named[], rules: CallRules): readonly Identity[] {
  const { user } = rules;
  const found = new Map<string, Identity>();
  const within = user.strongestFirst.filter((field) => isWithin(field, rules));
  for (const [field, value] of within.flatMap((field) => named.filter(([name]) => name === field))) {
    const identity = identityIn(user, field, value, rules);
    if (identity === undefined || found.has(identityKey(identity))) continue;
    if (rules.by !== undefined && found.size > 0) rules.leaveOut("outside_bound");
    else found.set(identityKey(identity), identity);
  }
  return [...found.values()];
}

function isWithin(field: string, { by }: CallRules): boolean {
  return by === undefined || by === field;
}

/** Returns an identity of a table; undefined, and reports it, if its value cannot be used. */
function identityIn(
  table: Table,
  name: string,
  value: Json | undefined,
  { leaveOut }: Pick<CallRules, "leaveOut">,
): Identity | undefined {
  const field = identityField(table, name);
  if (field === undefined || !isGiven(value)) return undefined;
  try {
    return identityOf(table, field, value);
  } catch (error) {
    leaveOut(issueOf(error).code);
    return undefined;
  }
}

/** Returns the attributes that an entity of the table can have, in their order. */
function attributesOf(table: Table, attributes: Members, leaveOut: LeaveOut): ParsedMessage["attributes"] {
  const named: [string, Json][] = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (IGNORED.includes(name) || identityField(table, name) !== undefined) continue;
    if (isAttributeName(name)) named.push([name, value]);
    else leaveOut("invalid_name");
  }
  if (named.length <= MAX_NAMES) return named;
  leaveOut("too_many_names");
  return [];
}

/** Maximum characters of a `messageId`. */
const MESSAGE_ID_LENGTH = 256;

/** Returns the `messageId`; undefined if it is absent or names no message. */
function messageIdOf({ messageId }: Members, leaveOut: LeaveOut): string | undefined {
  if (!isGiven(messageId)) return undefined;
  const isText = typeof messageId === "string" && hasAtMost(MESSAGE_ID_LENGTH, messageId);
  if (isText && !isCommonNobody(messageId)) return messageId;
  leaveOut("invalid_message_id");
  return undefined;
}

/** Returns traits; undefined if they are absent or, which it reports, no object. */
function objectIn(traits: Json | undefined, leaveOut: LeaveOut): Members | undefined {
  const members = membersOf(traits);
  if (members === undefined && isGiven(traits)) leaveOut("invalid_traits");
  return members;
}

function membersOf(json: Json | undefined): Members | undefined {
  return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Members) : undefined;
}
