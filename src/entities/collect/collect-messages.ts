import { groupedCalls } from "../../async/grouped-calls.js";
import { KeyedMutex } from "../../async/keyed-mutex.js";
import { ServiceError, type ServiceErrorOf, type ValidationIssue } from "../../errors.js";
import type { EntityStore } from "../ports.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity } from "../profile/identity.js";
import { applyBatch, type BatchDependencies, checkBatch, MAX_UPDATES, MERGE_BYTES } from "./apply-batch.js";
import type { BatchMessage, Message, NewMessage } from "./message.js";
import type { LimitReason, PlanLimits, RefusedMessage } from "./plan-batch.js";

export interface CollectDependencies extends BatchDependencies {
  readonly hashIdentity: HashIdentity;
  readonly serviceErrorOf: ServiceErrorOf;
}

/**
 * Collects messages for one stream and table, in order. Resolves when they are durable, applied and counted, with an
 * issue for each refused message. Once `late` has aborted, rejects with its reason and starts no commit of these
 * messages. Safe to repeat with the same ids.
 */
export type CollectMessages = (
  stream: string,
  table: Table,
  messages: readonly NewMessage[],
  late?: AbortSignal,
) => Promise<ReadonlyMap<NewMessage, Omit<ValidationIssue, "path">>>;

/** Maximum bytes of an entity's document. */
const ENTITY_BYTES = 1_048_576;

/**
 * Maximum bytes of the ids of an entity's segments. A store may hold each id twice, in one document of at most 16 MiB.
 */
const SEGMENT_BYTES = 6 * 1_048_576;

/** Concurrent batches. */
const CONCURRENT_COMMITS = 4;

/** Weight of a full batch: 500 messages of typical size. */
export const MAX_BATCH_WEIGHT = 500;

/** Limits of a batch. With `PROFILE_BYTES` and `MAX_UPDATES` they bound the time and memory of a commit. */
const MAX_BYTES = 1_048_576;
const MAX_IDENTITIES = 1_000;

/**
 * Returns the weight of a message in a batch. A batch has at most 500 messages, 1 MiB of memory, 1,000 identities to
 * look up and bind, and names 5,000 segments. `bytes` is the estimated memory of the message.
 */
export function weightOf(bytes: number, message: Message | undefined): number {
  const { identities = [], segments: { add, remove } = { add: [], remove: [] } } = message ?? {};
  const updates = (add.length + remove.length) / MAX_UPDATES;
  const share = Math.max(bytes / MAX_BYTES, identities.length / MAX_IDENTITIES, updates);
  return Math.max(1, share * MAX_BATCH_WEIGHT);
}

const issues: Record<LimitReason, (table: Table, limits: PlanLimits) => Omit<ValidationIssue, "path">> = {
  too_many_values: ({ maxValues }) => ({
    code: "too_many_values",
    message: `An entity has at most ${maxValues} values per identity field`,
  }),
  entity_too_large: () => ({
    code: "entity_too_large",
    message: `An entity has at most ${ENTITY_BYTES} bytes`,
  }),
  merge_too_large: () => ({
    code: "merge_too_large",
    message: `The entities that one message merges have at most ${MERGE_BYTES} bytes`,
  }),
  too_many_segments: (_, { segments }) => ({
    code: "too_many_segments",
    message: `An entity has at most ${segments} segments, including those it left`,
  }),
  segments_too_large: () => ({
    code: "segments_too_large",
    message: `The segment ids of an entity take at most ${SEGMENT_BYTES} bytes, including those it left`,
  }),
};

/** Wraps a store so that it calls `count` with the number of messages of each successful commit. */
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

/**
 * Creates the collector for these stores. `segments` is the maximum of segments per entity. Concurrent requests share
 * commits.
 */
export function collectMessages(dependencies: CollectDependencies, segments: number): CollectMessages {
  const mutex = new KeyedMutex();
  // Batches with a common identity would conflict and be planned again.
  const apply = (batch: readonly BatchMessage[], limits: PlanLimits) =>
    mutex.run(new Set(batch.flatMap(({ hashes }) => hashes)), () =>
      applyBatch(dependencies, eachOnce(batch.filter(({ late }) => late?.aborted !== true)), limits),
    );
  return grouped(dependencies, segments, MAX_BATCH_WEIGHT, apply);
}

/**
 * Creates a check that resolves with the issues that collecting the messages now would return, and stores nothing. It
 * ignores the effect of earlier batches of the same request.
 */
export function checkMessages(dependencies: CollectDependencies, segments: number): CollectMessages {
  return grouped(dependencies, segments, 0, (batch, limits) => checkBatch(dependencies, batch, limits));
}

/** Groups the batches of all requests up to the weight `shared`, and runs a few groups at once. */
function grouped(
  dependencies: CollectDependencies,
  segments: number,
  shared: number,
  work: (batch: readonly BatchMessage[], limits: PlanLimits) => Promise<readonly RefusedMessage[]>,
): CollectMessages {
  const limits = { entityBytes: ENTITY_BYTES, segments, segmentBytes: SEGMENT_BYTES };
  const submit = groupedCalls((batch: readonly BatchMessage[]) => work(batch, limits), {
    most: shared,
    weightOf: ({ bytes, message }) => weightOf(bytes, message),
    atOnce: CONCURRENT_COMMITS,
    // An altered profile fails only the requests about it.
    isOfOneCall: (error) => !(error instanceof ServiceError) && dependencies.serviceErrorOf(error) === undefined,
  });

  return async (stream, table, messages, late) => {
    const sources = new Map(messages.map((source) => [source.id, source]));
    const batch = Array.from(sources.values(), (source): BatchMessage => {
      const hashes = source.message.identities.map((identity) => dependencies.hashIdentity(table.name, identity));
      return { ...source, table, stream, hashes, late };
    });
    if (batch.length === 0) return new Map();
    const refused = await submit(batch);
    late?.throwIfAborted();
    return new Map(
      refused.flatMap(({ message: { id }, reason }) => {
        const source = sources.get(id);
        return source === undefined ? [] : [[source, issues[reason](table, limits)] as const];
      }),
    );
  };
}

/** Removes duplicate ids: a repeat may arrive while the first request is in progress. */
function eachOnce(batch: readonly BatchMessage[]): BatchMessage[] {
  return [...new Map(batch.map((message) => [message.id, message])).values()];
}
