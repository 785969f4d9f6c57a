import type { Problem } from "../errors.js";
import { applyBatch, type BatchParts, checkBatch } from "./apply-batch.js";
import { applyInParts, MERGE_BYTES } from "./apply-in-parts.js";
import type { BatchMessage } from "./batch-message.js";
import type { EntityId, Stamp } from "./entity.js";
import type { HashIdentity } from "./identity.js";
import type { LimitReason, PlanLimits } from "./limit-check.js";
import type { Message } from "./message.js";
import type { Table } from "./tables.js";

export interface CollectParts extends BatchParts {
  readonly hashIdentity: HashIdentity;
}

/** A message as it came in. */
export interface NewMessage {
  /** Names it in the history: 32 lower-case hex characters, the same when it is sent again under an idempotency key. */
  readonly id: string;
  /** False: it cannot be in the history yet, and is not looked for there. */
  readonly mayBeKept: boolean;
  readonly stamp: Stamp;
  readonly message: Message;
}

/**
 * Takes in a batch of messages for one stream and table, in order. When it resolves they are durable, applied and counted;
 * resolves with a problem for each that was refused. Safe to repeat with the same ids.
 */
export type CollectMessages = (
  stream: string,
  table: Table,
  messages: readonly NewMessage[],
) => Promise<ReadonlyMap<NewMessage, Omit<Problem, "path">>>;

/** Most bytes of an entity's document. */
const ENTITY_BYTES = 1_048_576;

/** Most segments of an entity, where nothing else is said. */
const ENTITY_SEGMENTS = 10_000;

const problems: Record<LimitReason, (limits: PlanLimits) => Omit<Problem, "path">> = {
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
  too_many_segments: ({ segments }) => ({
    code: "too_many_segments",
    message: `An entity has at most ${segments} segments, those that it left counted`,
  }),
};

/** Collecting into these stores. */
export function collectMessages(parts: CollectParts, mostSegments = ENTITY_SEGMENTS): CollectMessages {
  const apply = applyInParts(parts, applyBatch);

  return async (stream, table, messages) => {
    const sentBefore = messages.filter(({ mayBeKept }) => mayBeKept).map(({ id }) => id);
    const kept = await parts.history.find(sentBefore);
    const sources = new Map<string, NewMessage>();
    const batch: BatchMessage[] = [];
    for (const source of messages) {
      const before = kept.get(source.id);
      if (before?.settled) continue;
      sources.set(source.id, source);
      batch.push(batchMessage(parts, stream, table, source, before?.entity));
    }
    const limits = limitsOf(table, mostSegments);
    const refused = await apply(batch, limits, kept.size > 0);
    return new Map(
      refused.map(({ message, reason }) => [sources.get(message.id) as NewMessage, problems[reason](limits)]),
    );
  };
}

/**
 * Resolves with what collecting the messages now would refuse, and stores nothing. What an earlier batch of the same request would have
 * made is not there.
 */
export function checkMessages(parts: CollectParts, mostSegments = ENTITY_SEGMENTS): CollectMessages {
  const check = applyInParts(parts, checkBatch);

  return async (stream, table, messages) => {
    const sources = new Map(messages.map((source) => [source.id, source]));
    const batch = messages.map((source) => batchMessage(parts, stream, table, source, undefined));
    const limits = limitsOf(table, mostSegments);
    const refused = await check(batch, limits, false);
    return new Map(
      refused.map(({ message, reason }) => [sources.get(message.id) as NewMessage, problems[reason](limits)]),
    );
  };
}

function batchMessage(
  { hashIdentity }: CollectParts,
  stream: string,
  table: Table,
  { id, stamp, message }: NewMessage,
  entity: EntityId | undefined,
): BatchMessage {
  const hashes = message.identities.map((identity) => hashIdentity(table.name, identity));
  return { id, table: table.name, stream, message, hashes, stamp, entity };
}

function limitsOf({ maxValues }: Table, segments: number): PlanLimits {
  return { maxValues, entityBytes: ENTITY_BYTES, segments };
}
