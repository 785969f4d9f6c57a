import { groupedCalls } from "../../async/grouped-calls.js";
import { KeyedMutex } from "../../async/keyed-mutex.js";
import { ServiceError, type ServiceErrorOf, type ValidationIssue } from "../../errors.js";
import type { EntityStore } from "../ports.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity } from "../profile/identity.js";
import { applyBatch, type BatchParts, CutOffAhead, checkBatch, MERGE_BYTES } from "./apply-batch.js";
import type { BatchMessage, Message, NewMessage } from "./message.js";
import type { LimitReason, PlanLimits, RefusedMessage } from "./plan-batch.js";

export interface CollectParts extends BatchParts {
  readonly hashIdentity: HashIdentity;
  readonly serviceErrorOf: ServiceErrorOf;
}

/**
 * Takes in a batch of messages for one stream and table, in order. When it resolves they are durable, applied and counted;
 * resolves with an issue for each that was refused. Once `late` has aborted it rejects with the reason, and no commit of these messages begins.
 * Safe to repeat with the same ids.
 */
export type CollectMessages = (
  stream: string,
  table: Table,
  messages: readonly NewMessage[],
  late?: AbortSignal,
) => Promise<ReadonlyMap<NewMessage, Omit<ValidationIssue, "path">>>;

/** Maximum bytes of an entity's document. */
const ENTITY_BYTES = 1_048_576;

/** Maximum bytes of its segments' ids. A store may keep each id twice, and a profile in one document of 16 MiB. */
const SEGMENT_BYTES = 6 * 1_048_576;

/** Batches in progress at once. */
const AT_ONCE = 4;

/** Weight of a full batch: 500 messages of usual size. */
export const MAX_BATCH_WEIGHT = 500;

/** Together with `PROFILE_BYTES` these bound the time and the memory of a commit. */
const MAX_BYTES = 1_048_576;
const MAX_IDENTITIES = 1_000;
const MAX_STATEMENTS = 5_000;

/**
 * The part of a batch that a message takes: a batch has at most 500 messages, 1 MiB of them, 1,000 identities to look up and bind, and 5,000
 * statements about segments to write. `bytes` is the memory of the message, by estimate.
 */
export function weightOf(bytes: number, message: Message | undefined): number {
  const { identities = [], segments: { add, remove } = { add: [], remove: [] } } = message ?? {};
  const statements = (add.length + remove.length) / MAX_STATEMENTS;
  const share = Math.max(bytes / MAX_BYTES, identities.length / MAX_IDENTITIES, statements);
  return Math.max(1, share * MAX_BATCH_WEIGHT);
}

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

/** Collecting into these stores, with at most `segments` segments an entity. Concurrent requests share commits. */
export function collectMessages(parts: CollectParts, segments: number): CollectMessages {
  const mutex = new KeyedMutex();
  // Batches that name the same identity would conflict, and be planned again.
  const apply = (batch: readonly BatchMessage[], limits: PlanLimits) =>
    mutex.run(new Set(batch.flatMap(({ hashes }) => hashes)), () =>
      applyBatch(parts, eachOnce(batch.filter(({ late }) => late?.aborted !== true)), limits),
    );
  return inTurn(parts, segments, MAX_BATCH_WEIGHT, apply);
}

/**
 * Resolves with what collecting the messages now would refuse, and stores nothing. What an earlier batch of the same request, or another request,
 * would have made is not there.
 */
export function checkMessages(parts: CollectParts, segments: number): CollectMessages {
  return inTurn(parts, segments, 0, (batch, limits) => checkBatch(parts, batch, limits));
}

/** Batches of all requests, a few at once; those that weigh at most `shared` together are one. */
function inTurn(
  parts: CollectParts,
  segments: number,
  shared: number,
  work: (batch: readonly BatchMessage[], limits: PlanLimits) => Promise<readonly RefusedMessage[]>,
): CollectMessages {
  const limits = { entityBytes: ENTITY_BYTES, segments, segmentBytes: SEGMENT_BYTES };
  const grouped = groupedCalls((batch: readonly BatchMessage[]) => work(batch, limits), {
    most: shared,
    weightOf: ({ bytes, message }) => weightOf(bytes, message),
    atOnce: AT_ONCE,
    isOfOneCall: (error) =>
      error instanceof CutOffAhead || (!(error instanceof ServiceError) && parts.serviceErrorOf(error) === undefined),
  });

  return async (stream, table, messages, late) => {
    const sources = new Map(messages.map((source) => [source.id, source]));
    const batch = Array.from(sources.values(), (source): BatchMessage => {
      const hashes = source.message.identities.map((identity) => parts.hashIdentity(table.name, identity));
      return { ...source, table, stream, hashes, late };
    });
    if (batch.length === 0) return new Map();
    const refused = await grouped(batch);
    late?.throwIfAborted();
    return new Map(
      refused.flatMap(({ message: { id }, reason }) => {
        const source = sources.get(id);
        return source === undefined ? [] : [[source, issues[reason](table, limits)] as const];
      }),
    );
  };
}

/** A repeat that comes while the request before it is in progress brings the same messages. */
function eachOnce(batch: readonly BatchMessage[]): BatchMessage[] {
  return [...new Map(batch.map((message) => [message.id, message])).values()];
}
