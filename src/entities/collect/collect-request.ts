import type { Clock } from "../../clock.js";
import { invalid, ServiceError, type ValidationIssue } from "../../errors.js";
import { clusteredIds } from "../../ids.js";
import { type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";
import type { Table } from "../profile/entity-tables.js";
import { type CollectMessages, MAX_BATCH_WEIGHT, weightOf } from "./collect-messages.js";
import { type IdempotencyParts, RepeatableRun } from "./idempotency.js";
import type { NewMessage } from "./message.js";
import { aheadIssue, type ParsedMessage } from "./parse-message.js";

/** One message of a request, not read yet. */
export interface RequestItem {
  /** As it was sent, or what stands for it: equal texts, equal messages. */
  readonly text: string;
  /** Memory that it takes once it is read, by estimate, bytes. */
  readonly bytes: number;
  /** Reads the message, whenever it is called to the same result; refused with one issue. */
  parse(): ParsedMessage;
  /** Where an issue of it lies in the request. */
  place(path: string): string;
}

export interface CollectRequest {
  readonly stream: string;
  readonly table: Table;
  /** As they arrive. */
  readonly items: AsyncIterable<readonly RequestItem[]>;
  /** Awaited before each message is read, so that other requests run in between. */
  pause(): Promise<void> | undefined;
  /** The memory of the request: a batch is reserved here while it is in progress. */
  readonly memory: Reservation;
  /** Aborts when the request is given up. */
  readonly late: AbortSignal;
  /** Names a request that may be repeated: all that tells it apart from others. */
  readonly repeatName: string | undefined;
  /** Whether the messages are only checked, and nothing is stored. */
  readonly dryRun: boolean;
}

/** What a request came to. */
export interface CollectTally {
  /** Messages that were taken in, messages of erased identities too. */
  taken: number;
  rejected: number;
  /** Of the first hundred that were rejected. */
  errors: ValidationIssue[];
}

export interface CollectRequestParts extends IdempotencyParts {
  readonly clock: Clock;
  readonly collect: CollectMessages;
  /** The same, but stores nothing. */
  readonly check: CollectMessages;
}

const NAMED_ERRORS = 100;

/** How often messages are in memory while their batch is in progress: as they were read, and as they are stored. */
const COPIES = 2;

const newMessageId = clusteredIds();

/** Takes in a request of any length, batch by batch. Each batch is durable, applied and counted before the next one is read. */
export async function collectRequest(parts: CollectRequestParts, request: CollectRequest): Promise<CollectTally> {
  const { repeatName, dryRun } = request;
  if (repeatName === undefined || dryRun) return collectBatches(parts, request, undefined);
  const run = new RepeatableRun(parts, repeatName);
  const tally = await collectBatches(parts, request, run);
  return JSON.parse(await run.finish(JSON.stringify(tally))) as CollectTally;
}

async function collectBatches(
  parts: CollectRequestParts,
  request: CollectRequest,
  run: RepeatableRun | undefined,
): Promise<CollectTally> {
  const { stream, table, memory, late, dryRun } = request;
  const take = dryRun ? parts.check : parts.collect;
  const tally: CollectTally = { taken: 0, rejected: 0, errors: [] };
  let position = 0;
  for await (const batch of batchesOf(request, parts.clock)) {
    const first = position;
    position += batch.length;
    const ids = await run?.meet(batch.map(({ item }) => item.text));
    if (run?.isFinished) continue;
    const arrival = run?.arrival ?? parts.arrivals();
    const isRepeat = run?.isRepeat === true;
    const messages = batch.map(({ item, message, issue }, i): NewMessage | undefined => {
      if (message === undefined || issue !== undefined) return undefined;
      const version = { time: message.time ?? arrival, arrival, position: first + i };
      return { id: ids?.[i] ?? newMessageId(), isRepeat, version, bytes: item.bytes, message };
    });
    const refused = await take(
      stream,
      table,
      messages.filter((message) => message !== undefined),
      late,
    );
    for (const [i, message] of messages.entries()) {
      const { item, issue } = batch[i] as ReadItem;
      note(tally, item, message === undefined ? issue : refused.get(message));
    }
    memory.progressed();
  }
  if (position === 0) throw invalid("empty", "", "There is no message to collect");
  return tally;
}

/** An item that was read; with an issue it is rejected. */
interface ReadItem {
  readonly item: RequestItem;
  readonly message?: ParsedMessage;
  readonly issue?: ValidationIssue | undefined;
}

/**
 * The one batcher: messages in batches that bound a commit (see `weightOf`), each full but the last, or over by its last message. A body is cut in
 * the same places whenever it is sent, so that a repeat can be compared batch by batch.
 */
async function* batchesOf({ items, pause, memory }: CollectRequest, clock: Clock): AsyncGenerator<readonly ReadItem[]> {
  let batch: ReadItem[] = [];
  let weight = 0;
  let bytes = 0;
  let reserved = 0;
  for await (const arrived of items) {
    for (const item of arrived) {
      await pause();
      bytes += item.bytes;
      if (bytes > UNCOUNTED_BYTES) {
        memory.reserve(COPIES * bytes - reserved);
        reserved = COPIES * bytes;
      }
      const read = readItem(item, clock());
      batch.push(read);
      weight += weightOf(item.bytes, read.message);
      if (weight < MAX_BATCH_WEIGHT) continue;
      yield batch;
      memory.release(reserved);
      batch = [];
      weight = bytes = reserved = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** An error that rejects more than this message is thrown on. */
function readItem(item: RequestItem, now: number): ReadItem {
  try {
    const message = item.parse();
    return { item, message, issue: aheadIssue(message, now) };
  } catch (error) {
    const issue = error instanceof ServiceError && error.kind === "invalid" ? error.issues[0] : undefined;
    if (issue === undefined) throw error;
    return { item, issue };
  }
}

/** Counts a message, as rejected when there is an issue. */
function note(
  tally: CollectTally,
  item: RequestItem,
  issue: (Omit<ValidationIssue, "path"> & { path?: string }) | undefined,
): void {
  if (issue === undefined) {
    tally.taken += 1;
    return;
  }
  tally.rejected += 1;
  if (tally.errors.length < NAMED_ERRORS) tally.errors.push({ ...issue, path: item.place(issue.path ?? "") });
}
