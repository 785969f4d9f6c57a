import { createHash } from "node:crypto";
import { collectRequest } from "../../entities/collect/collect-request.js";
import { encodeMessage } from "../../entities/collect/message.js";
import type { ParsedMessage } from "../../entities/collect/parse-message.js";
import type { EntityStore } from "../../entities/ports.js";
import type { Json } from "../../entities/profile/entity-document.js";
import { type Table, tableNamed } from "../../entities/profile/entity-tables.js";
import { type IdentityHash, identityField, identityOf } from "../../entities/profile/identity.js";
import type { RequestItem } from "../../entities/requests/batches.js";
import { invalid } from "../../errors.js";
import { valueBytes } from "../../formats/json-size.js";
import type { Log } from "../../log.js";
import { type CollectRouteDependencies, rulesOf } from "../collect/index.js";
import type { ApiContext } from "../core/route.js";
import { type CallRules, type CallType, messagesOf } from "./calls.js";

export interface CallDependencies extends CollectRouteDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly log: Pick<Log, "warn">;
}

/** The calls of a request. */
export interface Calls {
  readonly calls: readonly unknown[];
  /** Type of the single call; undefined for a batch. */
  readonly type: CallType | undefined;
  readonly sentAt: unknown;
}

/** Stream of the calls with a key that is bound to none. */
const DEFAULT_STREAM = "segment";

/** Ms of work on calls before other requests run. */
const PAUSE_MS = 10;

/** Hex characters of an id in the history. */
const ID_DIGITS = 32;

const USER_ID = "user_id";

/** Collects the messages of the calls: first of the people, then of their accounts. Safe to repeat. */
export async function collectCalls(
  dependencies: CallDependencies,
  ctx: ApiContext,
  { calls, type, sentAt }: Calls,
): Promise<void> {
  const { limits, tables, clock, hashRequest, hashIdentity, entities, log } = dependencies;
  const { keyId, bounds, memory, turns, deadline, requestId } = ctx.state;
  const [user, account] = [tableNamed(tables, "user"), tables.get("account")];
  const rulesFor = (table: Table) => rulesOf(table, undefined, undefined, limits);
  // A keyed hash: without the pepper the guess of an id cannot be confirmed.
  const secret = hashRequest(JSON.stringify([keyId, "messageId"]));
  const userIdOf = userIdReader(user, limits.identity_bytes);
  const pause = turns.pauses(PAUSE_MS);
  const previousIds = new Map<IdentityHash, string>();
  for (const call of calls) {
    await pause();
    const value = userIdOf(fieldOf(call, "previousId"));
    if (value !== undefined) previousIds.set(hashIdentity(user.name, { field: USER_ID, value }), value);
  }
  const userIds = await ownedValues(entities, previousIds);
  const rules: CallRules = {
    by: bounds.by,
    user: rulesFor(user),
    account: account && rulesFor(account),
    arrival: clock(),
    sentAt,
    lastingId: (messageId, table) =>
      createHash("sha256")
        .update(secret + JSON.stringify([table, messageId]))
        .digest("hex")
        .slice(0, ID_DIGITS),
    isUserId: (value) => userIds.has(userIdOf(value) ?? ""),
  };

  async function collect(table: Table, items: readonly RequestItem<ParsedMessage>[]): Promise<void> {
    const stream = bounds.stream ?? DEFAULT_STREAM;
    const read = { items: atOnce(items), pause: turns.pauses(PAUSE_MS), memory };
    const request = { stream, table, ...read, late: deadline.signal, repeatName: undefined, dryRun: false };
    const { rejected, errors } = await collectRequest(dependencies, request);
    if (rejected === 0) return;
    log.warn({ requestId, rejected, codes: [...new Set(errors.map(({ code }) => code))] }, "calls were rejected");
  }

  const people: RequestItem<ParsedMessage>[] = [];
  const accounts: RequestItem<ParsedMessage>[] = [];
  for (const call of calls) {
    await pause();
    const bytes = valueBytes(call, limits.nesting);
    const parse = () => {
      const messages = messagesOf(call, type, rules);
      refuseLarge(messages.user, bytes);
      // A later alias of the request may name it.
      for (const { field, value } of messages.user.identities) if (field === USER_ID) userIds.add(value);
      const { account } = messages;
      if (account !== undefined) accounts.push(itemOf(bytes, () => account));
      return messages.user;
    };
    people.push(itemOf(bytes, parse));
  }
  if (people.length > 0) await collect(user, people);
  if (account !== undefined && accounts.length > 0) await collect(account, accounts);
}

/** Maximum bytes of a call as JSON, which are the most that an entity takes: then messages of collect are as large. */
const CALL_BYTES = 1_048_576;

/** Maximum bytes of JSON text for each byte of `valueBytes`: a control character is escaped. */
const MOST_TEXT = 6;

/** Throws when a call is too large to archive. Only calls that may be are encoded to find out. */
function refuseLarge(message: ParsedMessage, bytes: number): void {
  if (bytes * MOST_TEXT <= CALL_BYTES || encodeMessage(message).length <= CALL_BYTES) return;
  throw invalid("call_too_large", "", `A call has at most ${CALL_BYTES} bytes`);
}

/** Returns the values of the identities that an entity has. */
async function ownedValues(
  entities: CallDependencies["entities"],
  values: ReadonlyMap<IdentityHash, string>,
): Promise<Set<string>> {
  if (values.size === 0) return new Set();
  const { owners } = await entities.find([...values.keys()], 1);
  return new Set([...owners.keys()].flatMap((hash) => values.get(hash) ?? []));
}

/** Returns a function that returns a `user_id` in its normal form; undefined for a value that is none. */
function userIdReader(table: Table, maxBytes: number): (value: Json | undefined) => string | undefined {
  const field = identityField(table, USER_ID);
  return (value) => {
    if (field === undefined || value === undefined) return undefined;
    try {
      return identityOf(table, field, value, maxBytes).value;
    } catch {
      return undefined;
    }
  };
}

/** Returns a field of a JSON object; undefined for any other JSON value. */
export function fieldOf(json: unknown, name: string): Json | undefined {
  if (typeof json !== "object" || json === null || !Object.hasOwn(json, name)) return undefined;
  return (json as Record<string, Json>)[name];
}

function itemOf(bytes: number, parse: () => ParsedMessage): RequestItem<ParsedMessage> {
  return { text: "", bytes, parse, place: (path) => path };
}

async function* atOnce<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield items;
}
