import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { pacer } from "../async/yielding.js";
import type { Clock } from "../clock.js";
import { invalid, ServiceError, type ValidationIssue } from "../errors.js";
import { nearbyIds } from "../names.js";
import type { CollectMessages, NewMessage } from "./collect-messages.js";
import { type IdempotencyParts, RepeatableRun } from "./idempotent-request.js";
import type { ParsedMessage } from "./parse-message.js";
import type { Table } from "./tables.js";

/** One message of a request, not read yet. */
export interface RequestItem {
  /** As it was sent, or what stands for it: equal texts, equal messages. */
  readonly text: string;
  /** About what it takes up, bytes. */
  readonly bytes: number;
  /** Reads the message; refused with one issue. */
  parse(now: number): ParsedMessage;
  /** Where an issue of it lies in the request. */
  place(path: string): string;
}

export interface CollectRequest {
  readonly stream: string;
  readonly table: Table;
  /** As they arrive. */
  readonly items: AsyncIterable<readonly RequestItem[]>;
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

const BATCH_MESSAGES = 500;
const BATCH_BYTES = 1_048_576;
const NAMED_ERRORS = 100;

const newMessageId = nearbyIds();

/** Takes in a request of any length, batch by batch. Each batch is durable, applied and counted before the next one is read. */
export async function collectRequest(parts: CollectRequestParts, request: CollectRequest): Promise<CollectTally> {
  const { repeatName, dryRun } = request;
  if (repeatName === undefined || dryRun) return collectItems(parts, request, undefined);
  const run = await RepeatableRun.begin(parts, repeatName, randomUUID());
  try {
    return await collectItems(parts, request, run);
  } finally {
    await run.release();
  }
}

async function collectItems(
  parts: CollectRequestParts,
  { stream, table, items, dryRun }: CollectRequest,
  run: RepeatableRun | undefined,
): Promise<CollectTally> {
  const tally = tallyOf(run);
  const take = dryRun ? parts.check : parts.collect;
  const pace = pacer();
  let position = 0;
  for await (const batch of batchesOf(items)) {
    if (position > 0) await run?.advance(JSON.stringify(tally));
    const now = parts.clock();
    const arrival = run?.arrival ?? parts.arrivals();
    const rejected = new Map<number, { item: RequestItem; issue: ValidationIssue }>();
    const messages = new Map<NewMessage, { item: RequestItem; position: number }>();
    for (const item of batch) {
      await pace();
      const at = position;
      position += 1;
      if (run?.meet(item.text)) continue;
      try {
        const message = item.parse(now);
        const id = run?.messageId() ?? newMessageId();
        const version = { time: message.time ?? arrival, arrival, position: at };
        const mayBeKept = run !== undefined && !run.isFirst;
        messages.set({ id, mayBeKept, version, bytes: item.bytes, message }, { item, position: at });
      } catch (error) {
        rejected.set(at, { item, issue: issueOf(error) });
      }
    }
    for (const [message, issue] of await take(stream, table, [...messages.keys()])) {
      const source = messages.get(message);
      if (source === undefined) continue;
      messages.delete(message);
      rejected.set(source.position, { item: source.item, issue: { ...issue, path: "" } });
    }
    tally.taken += messages.size;
    note(tally, rejected);
  }
  if (position === 0) throw invalid("empty", "", "There is no message to collect");
  await run?.finish(JSON.stringify(tally));
  return tally;
}

function tallyOf(run: RepeatableRun | undefined): CollectTally {
  if (run === undefined || run.tally === "") return { taken: 0, rejected: 0, errors: [] };
  return JSON.parse(run.tally) as CollectTally;
}

/** The items in batches that are worth a transaction, and that memory does not feel; others get a turn in between. */
async function* batchesOf(items: AsyncIterable<readonly RequestItem[]>): AsyncGenerator<readonly RequestItem[]> {
  let batch: RequestItem[] = [];
  let bytes = 0;
  for await (const arrived of items) {
    for (const item of arrived) {
      batch.push(item);
      bytes += item.bytes;
      if (batch.length < BATCH_MESSAGES && bytes < BATCH_BYTES) continue;
      yield batch;
      await setImmediate();
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** The one issue of a message that was refused; other errors are thrown on. */
function issueOf(error: unknown): ValidationIssue {
  const issue = error instanceof ServiceError && error.kind === "invalid" ? error.issues[0] : undefined;
  if (issue === undefined) throw error;
  return issue;
}

function note(tally: CollectTally, rejected: ReadonlyMap<number, { item: RequestItem; issue: ValidationIssue }>): void {
  tally.rejected += rejected.size;
  for (const position of [...rejected.keys()].sort((a, b) => a - b)) {
    if (tally.errors.length >= NAMED_ERRORS) return;
    const { item, issue } = rejected.get(position) as { item: RequestItem; issue: ValidationIssue };
    tally.errors.push({ ...issue, path: item.place(issue.path) });
  }
}
