import type { Problem } from "../errors.js";
import { applyBatch, type BatchParts } from "./apply-batch.js";
import type { BatchMessage } from "./batch-message.js";
import type { Stamp } from "./entity.js";
import type { HashIdentity } from "./identity.js";
import type { Message } from "./message.js";
import type { LimitReason } from "./plan-batch.js";
import type { Table } from "./tables.js";
import { Turns } from "./turns.js";

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
export const ENTITY_BYTES = 1_048_576;

const problems: Record<LimitReason, (table: Table) => Omit<Problem, "path">> = {
  too_many_values: ({ maxValues }) => ({
    code: "too_many_values",
    message: `An entity holds at most ${maxValues} values of an identity field`,
  }),
  entity_too_large: () => ({
    code: "entity_too_large",
    message: `An entity holds at most ${ENTITY_BYTES} bytes`,
  }),
};

/** Collecting into these stores. */
export function collectMessages(parts: CollectParts): CollectMessages {
  const turns = new Turns();

  return async (stream, table, messages) => {
    const sentBefore = messages.filter(({ mayBeKept }) => mayBeKept).map(({ id }) => id);
    const kept = await parts.history.find(sentBefore);
    const sources = new Map<string, NewMessage>();
    const batch: BatchMessage[] = [];
    for (const source of messages) {
      const { id, stamp, message } = source;
      const before = kept.get(id);
      if (before?.settled) continue;
      sources.set(id, source);
      const hashes = message.identities.map((identity) => parts.hashIdentity(table.name, identity));
      batch.push({ id, table: table.name, stream, message, hashes, stamp, entity: before?.entity });
    }
    const limits = { maxValues: table.maxValues, entityBytes: ENTITY_BYTES };
    const names = batch.flatMap(({ hashes }) => hashes);
    const refused = await turns.take(names, () => applyBatch(parts, batch, limits, kept.size > 0));
    return new Map(
      refused.map(({ message, reason }) => [sources.get(message.id) as NewMessage, problems[reason](table)]),
    );
  };
}
