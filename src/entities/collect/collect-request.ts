import type { Clock } from "../../clock.js";
import { invalid, ServiceError, type ValidationIssue } from "../../errors.js";
import { clusteredIds } from "../../ids.js";
import { type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";
import type { Table } from "../profile/entity-tables.js";
import { type CollectMessages, MAX_BATCH_WEIGHT, weightOf } from "./collect-messages.js";
import { type IdempotencyDependencies, RepeatableRun } from "./idempotency.js";
import type { NewMessage } from "./message.js";
import { aheadIssue, type ParsedMessage } from "./parse-message.js";

/** One unparsed message of a request. */
export interface RequestItem {
  /** The text as sent, or a replacement for it: equal texts mean equal messages. */
  readonly text: string;
  /** Estimated memory of the parsed message, bytes. */
  readonly bytes: number;
  /** Parses the message, with the same result in each call. Throws `invalid` with one issue. */
  parse(): ParsedMessage;
  /** Returns the position of an issue of this message in the request. */
  place(path: string): string;
}

export interface CollectRequest {
  readonly stream: string;
  readonly table: Table;
  /** Messages as they arrive. */
  readonly items: AsyncIterable<readonly RequestItem[]>;
  /** Awaited before each message is parsed, so that other requests can run. */
  pause(): Promise<void> | undefined;
  /** Reserves memory for each batch while it is in progress. */
  readonly memory: Reservation;
  /** Aborts when the request is abandoned. */
  readonly late: AbortSignal;
  /** Identifies a request that may be repeated; undefined for other requests. */
  readonly repeatName: string | undefined;
  /** Whether to check the messages without storing them. */
  readonly dryRun: boolean;
}

/** Result of a request. */
export interface CollectTally {
  /** Accepted messages, including those of erased identities. */
  taken: number;
  rejected: number;
  /** Issues of the first 100 rejected messages. */
  errors: ValidationIssue[];
}

export interface CollectRequestDependencies extends IdempotencyDependencies {
  readonly clock: Clock;
  readonly collect: CollectMessages;
  /** Checks the messages like `collect`, but stores nothing. */
  readonly check: CollectMessages;
}

const NAMED_ERRORS = 100;

/** Copies of a message in memory while its batch is in progress: the parsed one and the stored one. */
const COPIES = 2;

const newMessageId = clusteredIds();

/**
 * Collects a request of any length in batches. Each batch is durable, applied and counted before the next one is read.
 */
export async function collectRequest(
  parts: CollectRequestDependencies,
  request: CollectRequest,
): Promise<CollectTally> {
  const { repeatName, dryRun } = request;
  if (repeatName === undefined || dryRun) return collectBatches(parts, request, undefined);
  const run = new RepeatableRun(parts, repeatName);
  const tally = await collectBatches(parts, request, run);
  return JSON.parse(await run.finish(JSON.stringify(tally))) as CollectTally;
}

async function collectBatches(
  parts: CollectRequestDependencies,
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
    if (run?.isFinished) {
      memory.progressed();
      continue;
    }
    const arrival = run?.arrival ?? parts.arrivalClock();
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

/** A parsed item; with an issue it is rejected. */
interface ReadItem {
  readonly item: RequestItem;
  readonly message?: ParsedMessage;
  readonly issue?: ValidationIssue | undefined;
}

/**
 * Splits the messages into batches that bound a commit (see `weightOf`). Each batch but the last is full; its last
 * message may exceed the weight. The same body is always split in the same places, so a repeat can be compared batch by
 * batch.
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

/** Parses an item. Errors that concern more than this message are rethrown. */
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

/** Counts a message as rejected when it has an issue, otherwise as accepted. */
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
