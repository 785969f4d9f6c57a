import { createHash } from "node:crypto";
import { yieldWhenDue } from "../../async/yielding.js";
import { MAX_BATCH_WEIGHT, weightOf } from "../../entities/collect/collect-messages.js";
import { collectRequest } from "../../entities/collect/collect-request.js";
import { MESSAGE_MEMORY_BYTES, type ParsedMessage } from "../../entities/collect/parse-message.js";
import type { Json } from "../../entities/profile/entity-document.js";
import { type Table, tableNamed } from "../../entities/profile/entity-tables.js";
import { encodeMessage } from "../../entities/profile/message.js";
import { type KnownValuesDependencies, knownValues } from "../../entities/read/known-values.js";
import type { RequestItem } from "../../entities/requests/batches.js";
import { invalid, type ServiceError } from "../../errors.js";
import { parseExactly } from "../../formats/exact-json.js";
import type { EventNames } from "../../keys/event-names.js";
import type { Log } from "../../log.js";
import type { CollectRouteDependencies } from "../collect/index.js";
import { tooLarge } from "../core/body.js";
import { MAX_NESTING } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";
import { checkedSizes, textAt } from "../items/read-items.js";
import {
  type Call,
  type CallMessages,
  type CallRules,
  type CallType,
  callOf,
  codeOf,
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

/** A parsed call with its estimated memory, bytes. */
interface SizedCall {
  readonly call: Call;
  readonly bytes: number;
}

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

  function reject(error: unknown): void {
    const code = codeOf(error);
    if (code === "call_too_large" && type !== undefined) throw tooLarge(CALL_BYTES);
    countRejected(1, code);
    rejected += 1;
    codes.add(code);
  }

  async function parse(from: number, to: number): Promise<SizedCall[]> {
    const parsed: SizedCall[] = [];
    for (let index = from; index < to; index += 1) {
      await yieldWhenDue();
      const bytes = sizes[index] as number;
      try {
        if (bytes === 0) throw callTooLarge();
        parsed.push({ call: callOf(parseExactly(textAt(calls, index)), type, MAX_NESTING, leaveOut), bytes });
      } catch (error) {
        reject(error);
      }
    }
    return parsed;
  }

  async function collect(table: Table, items: readonly RequestItem<ParsedMessage>[]): Promise<void> {
    const read = { items: atOnce(items), memory };
    const request = { stream, table, ...read, late: deadline.signal, repeatName: undefined, dryRun: false };
    const tally = await collectRequest(dependencies, request);
    rejected += tally.rejected;
    for (const { code } of tally.errors) codes.add(code);
  }

  async function collectBatch(batch: readonly SizedCall[]): Promise<void> {
    const previousIds = new Set(batch.flatMap(({ call }) => previousUserId(call, rules) ?? []));
    userIds.clear();
    for (const id of await knownValues(dependencies, bounds.by, user, USER_ID, previousIds)) userIds.add(id);
    const sentNames = new Set(batch.flatMap(({ call }) => nameOf(call) ?? []));
    const eventNames = await dependencies.eventNames(keyId, sentNames);
    const people: RequestItem<ParsedMessage>[] = [];
    const accounts: RequestItem<ParsedMessage>[] = [];
    for (const { call, bytes } of batch) {
      await yieldWhenDue();
      const name = nameOf(call);
      const own = name !== undefined && eventNames.has(name) ? `${stream}.${name}` : undefined;
      try {
        const messages = messagesOf(call, rules);
        refuseLarge(messages, bytes);
        // A later alias of the batch may name it.
        for (const { field, value } of messages.user?.identities ?? []) if (field === USER_ID) userIds.add(value);
        if (messages.user !== undefined) people.push(itemOf({ ...messages.user, stream: own }, bytes));
        if (messages.account !== undefined) accounts.push(itemOf(messages.account, bytes));
      } catch (error) {
        reject(error);
      }
    }
    if (people.length > 0) await collect(user, people);
    if (account !== undefined && accounts.length > 0) await collect(account, accounts);
  }

  const sizes = await checkedSizes(calls, MESSAGE_MEMORY_BYTES, CALL_BYTES);
  for (let from = 0; from < sizes.length; ) {
    let to = from;
    for (let weight = 0; to < sizes.length && weight < MAX_BATCH_WEIGHT; to += 1) {
      weight += weightOf(sizes[to] as number, undefined);
    }
    const release = memory.reserveUnlessSmall(sizes.slice(from, to).reduce((sum, bytes) => sum + bytes, 0));
    await collectBatch(await parse(from, to));
    release();
    from = to;
  }
  if (rejected > 0) log.warn({ requestId, rejected, codes: [...codes] }, "calls were rejected");
}

function callTooLarge(): ServiceError {
  return invalid("call_too_large", "", `A call has at most ${CALL_BYTES} bytes`);
}

/** Maximum bytes of JSON text for each byte of estimated memory: a control character is escaped. */
const MAX_TEXT = 6;

/** Throws when a call is too large to archive. Only calls that may be are encoded to find out. */
function refuseLarge({ user, account }: CallMessages, bytes: number): void {
  const message = user ?? account;
  if (message === undefined || bytes * MAX_TEXT <= CALL_BYTES) return;
  if (encodeMessage(message).length > CALL_BYTES) throw callTooLarge();
}

/** Returns a field of a JSON object; undefined for any other JSON value. */
export function fieldOf(json: unknown, name: string): Json | undefined {
  if (typeof json !== "object" || json === null || !Object.hasOwn(json, name)) return undefined;
  return (json as Record<string, Json>)[name];
}

function itemOf(message: ParsedMessage, bytes: number): RequestItem<ParsedMessage> {
  return { text: "", bytes, parse: () => message, place: (path) => path };
}

async function* atOnce<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield items;
}
