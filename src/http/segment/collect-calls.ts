import { createHash } from "node:crypto";
import { yieldWhenDue } from "../../async/yielding.js";
import { MAX_BATCH_WEIGHT, weightOf } from "../../entities/collect/collect-messages.js";
import { collectRequest } from "../../entities/collect/collect-request.js";
import { MESSAGE_MEMORY_BYTES, type ParsedMessage } from "../../entities/collect/parse-message.js";
import type { Json } from "../../entities/profile/entity-document.js";
import { type Table, tableNamed } from "../../entities/profile/entity-tables.js";
import { encodeMessage } from "../../entities/profile/message.js";
import { type KnownValuesDependencies, knownValues } from "../../entities/read/known-values.js";
import { batchesOf, type ReadItem, type RequestItem } from "../../entities/requests/batches.js";
import { invalid, issueOf } from "../../errors.js";
import type { EventNames } from "../../keys/event-names.js";
import type { Log } from "../../log.js";
import type { CollectRouteDependencies } from "../collect/index.js";
import { tooLarge } from "../core/body.js";
import { MAX_NESTING } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";
import { elementsOf } from "../items/read-items.js";
import {
  type Call,
  type CallMessages,
  type CallRules,
  type CallType,
  callOf,
  messagesOf,
  previousUserId,
} from "./calls.js";
import { eventNameOf } from "./event-name.js";
import { instantOf } from "./event-time.js";
import { CALL_BYTES, type CallBody } from "./read-calls.js";

export interface CallDependencies extends CollectRouteDependencies, KnownValuesDependencies {
  /** Counts `by` parts of calls that were left out, by the code of the reason. */
  countLeftOut(by: number, code: string): void;
  readonly eventNames: EventNames;
  readonly log: Pick<Log, "warn">;
}

/** Stream of the calls with a key that is bound to none. */
const DEFAULT_STREAM = "segment";

/** Hex characters of an id in the history. */
const ID_DIGITS = 32;

const USER_ID = "user_id";

/**
 * Collects the messages of the calls in batches: in each, people come before their accounts.
 * `type` is the one of a single call; undefined for a batch. Throws `invalid`, and collects nothing, unless all calls
 * are JSON. Safe to repeat.
 */
export async function collectCalls(
  dependencies: CallDependencies,
  ctx: ApiContext,
  type: CallType | undefined,
  { calls, envelope }: CallBody,
): Promise<void> {
  const { tables, clock, hashRequest, countLeftOut, countRejected, log } = dependencies;
  const { keyId, bounds, memory, deadline, requestId } = ctx.state;
  const [user, account] = [tableNamed(tables, "user"), tables.get("account")];
  const stream = bounds.stream ?? DEFAULT_STREAM;
  const nameOf = (call: Call) => (bounds.eventStreams ? eventNameOf(call, stream) : undefined);
  const leaveOut = (code: string) => countLeftOut(1, code);
  // A keyed hash: without the pepper the guess of an id cannot be confirmed.
  const secret = hashRequest(JSON.stringify([keyId, "messageId"]));
  const userIds = new Set<string>();
  const rules: CallRules = {
    user,
    account,
    by: bounds.by,
    arrival: clock(),
    sentAt: instantOf(fieldOf(envelope, "sentAt"), leaveOut),
    lastingId: (messageId, table) =>
      createHash("sha256")
        .update(secret + JSON.stringify([table, messageId]))
        .digest("hex")
        .slice(0, ID_DIGITS),
    isUserId: (value) => userIds.has(value),
    leaveOut,
  };
  let rejected = 0;
  const codes = new Set<string>();

  function reject(code: string): void {
    if (code === TOO_LARGE.code && type !== undefined) throw tooLarge(CALL_BYTES);
    countRejected(1, code);
    rejected += 1;
    codes.add(code);
  }

  async function collect(table: Table, items: readonly RequestItem<ParsedMessage>[]): Promise<void> {
    if (items.length === 0) return;
    const request = { stream, table, items: [items], memory, late: deadline.signal, repeatName: undefined };
    const tally = await collectRequest(dependencies, { ...request, dryRun: false });
    rejected += tally.rejected;
    for (const { code } of tally.errors) codes.add(code);
  }

  async function collectBatch(batch: readonly ReadItem<Call>[]): Promise<void> {
    const parsed = batch.flatMap(({ value }) => value ?? []);
    const previousIds = new Set(parsed.flatMap((call) => previousUserId(call, rules) ?? []));
    userIds.clear();
    for (const id of await knownValues(dependencies, bounds.by, user, USER_ID, previousIds)) userIds.add(id);
    const eventNames = await dependencies.eventNames(keyId, new Set(parsed.flatMap((call) => nameOf(call) ?? [])));
    const people: RequestItem<ParsedMessage>[] = [];
    const accounts: RequestItem<ParsedMessage>[] = [];
    for (const { item, value: call, issue } of batch) {
      await yieldWhenDue();
      if (call === undefined) {
        reject(issue.code);
        continue;
      }
      const name = nameOf(call);
      const own = name !== undefined && eventNames.has(name) ? `${stream}.${name}` : undefined;
      try {
        const messages = messagesOf(call, rules);
        refuseLarge(messages, item.bytes);
        // A later alias of the batch may name it.
        for (const { field, value } of messages.user?.identities ?? []) if (field === USER_ID) userIds.add(value);
        if (messages.user !== undefined) people.push(itemOf({ ...messages.user, stream: own }, item.bytes));
        if (messages.account !== undefined) accounts.push(itemOf(messages.account, item.bytes));
      } catch (error) {
        reject(issueOf(error).code);
      }
    }
    await collect(user, people);
    if (account !== undefined) await collect(account, accounts);
  }

  const items = await elementsOf(calls, {
    parse: (json) => callOf(json, type, MAX_NESTING, leaveOut),
    wirePath: (path) => path,
    itemBytes: MESSAGE_MEMORY_BYTES,
    textBytes: CALL_BYTES,
    tooLarge: TOO_LARGE,
  });
  const request = { items: [items], memory };
  for await (const batch of batchesOf(request, MAX_BATCH_WEIGHT, ({ item }) => weightOf(item.bytes, undefined))) {
    await collectBatch(batch);
  }
  if (rejected > 0) log.warn({ requestId, rejected, codes: [...codes] }, "calls were rejected");
}

const TOO_LARGE = { code: "call_too_large", message: `A call has at most ${CALL_BYTES} bytes` };

/** Maximum bytes of JSON text for each byte of estimated memory: a control character is escaped. */
const MAX_TEXT = 6;

/** Throws when a call is too large to archive. Only calls that may be are encoded to find out. */
function refuseLarge({ user, account }: CallMessages, bytes: number): void {
  const message = user ?? account;
  if (message === undefined || bytes * MAX_TEXT <= CALL_BYTES) return;
  if (encodeMessage(message).length > CALL_BYTES) throw invalid(TOO_LARGE.code, "", TOO_LARGE.message);
}

/** Returns a field of a JSON object; undefined for any other JSON value. */
export function fieldOf(json: unknown, name: string): Json | undefined {
  if (typeof json !== "object" || json === null || !Object.hasOwn(json, name)) return undefined;
  return (json as Record<string, Json>)[name];
}

function itemOf(message: ParsedMessage, bytes: number): RequestItem<ParsedMessage> {
  return { text: "", bytes, parse: () => message, place: (path) => path };
}
