import { setImmediate } from "node:timers/promises";
import { groupedCalls } from "../async/grouped-calls.js";
import { ServiceError, type ServiceErrorOf, type ValidationIssue } from "../errors.js";
import { applyBatch, type BatchParts, CutOffAhead, checkBatch } from "./apply-batch.js";
import { applyInParts, MERGE_BYTES } from "./apply-in-parts.js";
import type { Version } from "./entity.js";
import type { HashIdentity } from "./identity.js";
import type { BatchMessage, Message } from "./message.js";
import type { LimitReason, PlanLimits, RefusedMessage } from "./plan-batch.js";
import type { EntityStore } from "./ports.js";
import type { Table } from "./tables.js";

export interface CollectParts extends BatchParts {
  readonly hashIdentity: HashIdentity;
  readonly serviceErrorOf: ServiceErrorOf;
}

/** A message as it came in. */
export interface NewMessage {
  /** Names it in the history: 32 lower-case hex characters, the same when it is sent again under an idempotency key. */
  readonly id: string;
  /** Whether its request arrived before under the same idempotency key: it may be in the history, or an erasure may have removed it from there. */
  readonly isRepeat: boolean;
  readonly version: Version;
  /** About what it takes up. */
  readonly bytes: number;
  readonly message: Message;
}

/**
 * Takes in a batch of messages for one stream and table, in order. When it resolves they are durable, applied and counted;
 * resolves with an issue for each that was refused. Safe to repeat with the same ids.
 */
export type CollectMessages = (
  stream: string,
  table: Table,
  messages: readonly NewMessage[],
) => Promise<ReadonlyMap<NewMessage, Omit<ValidationIssue, "path">>>;

export interface CollectLimits {
  /** Most segments of an entity. */
  readonly segments: number;
  /** How long messages wait for their commit to begin, ms. */
  readonly deadlineMs: number;
}

/** Most bytes of an entity's document. */
const ENTITY_BYTES = 1_048_576;

/** Most bytes of their ids. A store may keep each id twice, and a profile in one document of 16 MiB. */
const SEGMENT_BYTES = 6 * 1_048_576;

/** Messages, and bytes of them, of one commit, unless a single call brings more; and commits under way at once. */
const GROUP_MESSAGES = 500;
const GROUP_BYTES = 1_048_576;
const AT_ONCE = 4;

/** Identities that messages of one commit name, unless a single message names more: other requests wait while they are looked up and bound. */
const GROUP_IDENTITIES = 2_000;

const issues: Record<LimitReason, (table: Table, limits: PlanLimits) => Omit<ValidationIssue, "path">> = {
  too_many_values: ({ maxValues }) => ({
    code: "too_many_values",
    message: `An entity holds at most ${maxValues} values of an identity field`,
  }),
  entity_too_large: () => ({
    code: "entity_too_large",
    message: `An entity holds at most ${ENTITY_BYTES} bytes`,
  }),
  merge_too_large: () => ({
    code: "merge_too_large",
    message: `The entities that one message merges hold at most ${MERGE_BYTES} bytes`,
  }),
  too_many_segments: (_, { segments }) => ({
    code: "too_many_segments",
    message: `An entity has at most ${segments} segments, those that it left counted`,
  }),
  segments_too_large: () => ({
    code: "segments_too_large",
    message: `The ids of the segments of an entity take at most ${SEGMENT_BYTES} bytes, those that it left counted`,
  }),
};

/** The same store, with the number of messages of each commit that it keeps handed to `count`. */
export function countTaken(entities: EntityStore, count: (messages: number) => void): EntityStore {
  return {
    ...entities,
    async commit(commit) {
      const isKept = await entities.commit(commit);
      if (isKept) count(commit.messages.length);
      return isKept;
    },
  };
}

/** Collecting into these stores. Concurrent requests share commits. A request whose messages wait too long for their commit is refused, and none of them is kept. */
export function collectMessages(parts: CollectParts, { segments, deadlineMs }: CollectLimits): CollectMessages {
  const limits = { entityBytes: ENTITY_BYTES, segments, segmentBytes: SEGMENT_BYTES };
  const apply = applyInParts(parts, applyBatch);
  const grouped = groupedCalls((batch: readonly BatchMessage[]) => apply(eachOnce(batch), limits), {
    most: GROUP_MESSAGES,
    weightOf: ({ bytes, hashes }) =>
      Math.max(1, (bytes / GROUP_BYTES) * GROUP_MESSAGES, (hashes.length / GROUP_IDENTITIES) * GROUP_MESSAGES),
    atOnce: AT_ONCE,
    isOfOneCall: (error) =>
      error instanceof CutOffAhead || (!(error instanceof ServiceError) && parts.serviceErrorOf(error) === undefined),
    deadline: {
      ms: deadlineMs,
      error: () => new ServiceError("unavailable", "Too many messages wait to be kept", { retryAfter: 1 }),
    },
  });

  return inParts(async (stream, table, messages) => {
    const sentBefore = messages.filter(({ isRepeat }) => isRepeat).map(({ id }) => id);
    const kept = sentBefore.length === 0 ? new Set<string>() : await parts.history.kept(sentBefore);
    const sources = new Map(messages.filter(({ id }) => !kept.has(id)).map((source) => [source.id, source]));
    if (sources.size === 0) return new Map();
    const refused = await grouped(Array.from(sources.values(), (source) => batchMessage(parts, stream, table, source)));
    return issuesOf(refused, sources, limits);
  });
}

/**
 * Resolves with what collecting the messages now would refuse, and stores nothing. What an earlier batch of the same request would have
 * made is not there.
 */
export function checkMessages(parts: CollectParts, segments: number): CollectMessages {
  const limits = { entityBytes: ENTITY_BYTES, segments, segmentBytes: SEGMENT_BYTES };
  const check = applyInParts(parts, checkBatch);

  return inParts(async (stream, table, messages) => {
    const sources = new Map(messages.map((source) => [source.id, source]));
    const batch = messages.map((source) => batchMessage(parts, stream, table, source));
    return issuesOf(await check(batch, limits), sources, limits);
  });
}

/** The same for parts of the messages, one after another, that do not name too many identities. Other requests run in between. */
function inParts(collect: CollectMessages): CollectMessages {
  return async (stream, table, messages) => {
    const refused = new Map<NewMessage, Omit<ValidationIssue, "path">>();
    for (const part of partsOf(messages)) {
      if (part[0] !== messages[0]) await setImmediate();
      for (const [message, issue] of await collect(stream, table, part)) refused.set(message, issue);
    }
    return refused;
  };
}

function* partsOf(messages: readonly NewMessage[]): Generator<readonly NewMessage[]> {
  let first = 0;
  let identities = 0;
  for (const [at, { message }] of messages.entries()) {
    identities += message.identities.length;
    if (identities <= GROUP_IDENTITIES || at === first) continue;
    yield messages.slice(first, at);
    first = at;
    identities = message.identities.length;
  }
  if (first < messages.length) yield messages.slice(first);
}

/** A repeat that comes while the request before it is under way brings the same messages. */
function eachOnce(batch: readonly BatchMessage[]): BatchMessage[] {
  return [...new Map(batch.map((message) => [message.id, message])).values()];
}

/** The refused messages that are among the sources. */
function issuesOf(
  refused: readonly RefusedMessage[],
  sources: ReadonlyMap<string, NewMessage>,
  limits: PlanLimits,
): Map<NewMessage, Omit<ValidationIssue, "path">> {
  return new Map(
    refused.flatMap(({ message: { id, table }, reason }) => {
      const source = sources.get(id);
      return source === undefined ? [] : [[source, issues[reason](table, limits)] as const];
    }),
  );
}

function batchMessage(
  { hashIdentity }: CollectParts,
  stream: string,
  table: Table,
  { id, isRepeat, version, bytes, message }: NewMessage,
): BatchMessage {
  const hashes = message.identities.map((identity) => hashIdentity(table.name, identity));
  return { id, isRepeat, table, stream, message, hashes, version, bytes };
}
