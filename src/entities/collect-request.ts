import { setImmediate } from "node:timers/promises";
import { pacer } from "../async/yielding.js";
import type { Clock } from "../clock.js";
import { invalid, ServiceError, type ValidationIssue } from "../errors.js";
import { type Reservation, UNCOUNTED_BYTES } from "../memory-budget.js";
import { nearbyIds } from "../names.js";
import type { CollectMessages, NewMessage } from "./collect-messages.js";
import { type IdempotencyParts, RepeatableRun } from "./idempotent-request.js";
import type { ParsedMessage } from "./parse-message.js";
import type { Table } from "./tables.js";

/** One message of a request, not read yet. */
export interface RequestItem {
  /** As it was sent, or what stands for it: equal texts, equal messages. */
  readonly text: string;
  /** Memory that it takes once it is read, by estimate, bytes. */
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
  /** The memory of the request: a batch is reserved here while it is in progress. */
  readonly memory: Reservation;
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

/** How often messages are in memory while their batch is in progress: as they were read, and as they are stored. */
const COPIES = 2;

const newMessageId = nearbyIds();

/** Takes in a request of any length, batch by batch. Each batch is durable, applied and counted before the next one is read. */
export async function collectRequest(parts: CollectRequestParts, request: CollectRequest): Promise<CollectTally> {
  const { repeatName, dryRun } = request;
  if (repeatName === undefined || dryRun) return collectItems(parts, request, undefined);
  const run = new RepeatableRun(parts, repeatName);
  const tally = await collectItems(parts, request, run);
  return JSON.parse(await run.finish(JSON.stringify(tally))) as CollectTally;
}

async function collectItems(
  parts: CollectRequestParts,
  { stream, table, items, memory, dryRun }: CollectRequest,
  run: RepeatableRun | undefined,
): Promise<CollectTally> {
  const tally: CollectTally = { taken: 0, rejected: 0, errors: [] };
  const take = dryRun ? parts.check : parts.collect;
  const pace = pacer();
  let position = 0;
  for await (const batch of batchesOf(items, memory)) {
    const first = position;
    position += batch.length;
    const ids = await run?.meet(batch.map(({ text }) => text));
    if (run?.isFinished) continue;
    const now = parts.clock();
    const arrival = run?.arrival ?? parts.arrivals();
    const rejected = new Map<number, { item: RequestItem; issue: ValidationIssue }>();
    const messages = new Map<NewMessage, { item: RequestItem; position: number }>();
    for (const [i, item] of batch.entries()) {
      await pace();
      const at = first + i;
      try {
        const message = item.parse(now);
        const id = ids?.[i] ?? newMessageId();
        const version = { time: message.time ?? arrival, arrival, position: at };
        const isRepeat = run?.isRepeat === true;
        messages.set({ id, isRepeat, version, bytes: item.bytes, message }, { item, position: at });
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
  return tally;
}

/** The items in batches that are worth a transaction, and that memory does not feel; others get a turn in between. */
async function* batchesOf(
  items: AsyncIterable<readonly RequestItem[]>,
  memory: Reservation,
): AsyncGenerator<readonly RequestItem[]> {
  let batch: RequestItem[] = [];
  let bytes = 0;
  for await (const arrived of items) {
    for (const item of arrived) {
      batch.push(item);
      bytes += item.bytes;
      if (batch.length < BATCH_MESSAGES && bytes < BATCH_BYTES) continue;
      memory.reserve(COPIES * bytes);
      yield batch;
      memory.release(COPIES * bytes);
      await setImmediate();
      batch = [];
      bytes = 0;
    }
  }
  if (bytes > UNCOUNTED_BYTES) memory.reserve(COPIES * bytes);
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
