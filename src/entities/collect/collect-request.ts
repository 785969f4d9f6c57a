import { ARRIVAL_STEP_MS, type Clock } from "../../clock.js";
import { invalid, type ValidationIssue } from "../../errors.js";
import { clusteredIds } from "../../ids.js";
import type { Version } from "../profile/entity.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity } from "../profile/identity.js";
import type { BatchMessage } from "../profile/message.js";
import { batchesOf, type RequestItem, type RequestItems } from "../requests/batches.js";
import { type IdempotencyDependencies, RepeatableRun } from "../requests/repeatable-run.js";
import { type CollectMessages, MAX_BATCH_WEIGHT, weightOf } from "./collect-messages.js";
import { aheadIssue, type ParsedMessage } from "./parse-message.js";

/** Messages for one table. */
export interface CollectRequest extends RequestItems<ParsedMessage> {
  /** The stream of messages that name none. */
  readonly stream: string;
  readonly table: Table;
  /** Aborts when the request is abandoned. */
  readonly late: AbortSignal;
  /** Identifies a request that may be repeated; undefined for other requests. */
  readonly repeatName: string | undefined;
  /** Whether to check the messages without storing them. */
  readonly dryRun: boolean;
}

/** Result of a request. */
export interface CollectTally {
  /** Accepted messages, including messages of erased identities. */
  taken: number;
  rejected: number;
  /** Identities that were left out of accepted messages (see `joinIdentities`). */
  leftOut: number;
  /** Issues of the first 100 rejected messages. */
  errors: ValidationIssue[];
}

export interface CollectRequestDependencies extends IdempotencyDependencies {
  readonly clock: Clock;
  readonly hashIdentity: HashIdentity;
  readonly collect: CollectMessages;
  /** Checks the messages like `collect`, but stores nothing. */
  readonly check: CollectMessages;
  /** Counts `by` rejected messages by the code of their issue. */
  countRejected(by: number, code: string): void;
}

const NAMED_ERRORS = 100;

const newMessageId = clusteredIds();

/**
 * Collects a request of any length in batches. Each batch is durable, applied and counted before the next one is read.
 */
export async function collectRequest(
  dependencies: CollectRequestDependencies,
  request: CollectRequest,
): Promise<CollectTally> {
  const { repeatName, dryRun } = request;
  if (repeatName === undefined || dryRun) return collectBatches(dependencies, request, undefined);
  const run = new RepeatableRun(dependencies, repeatName);
  const tally = await collectBatches(dependencies, request, run);
  return JSON.parse(await run.finish(JSON.stringify(tally))) as CollectTally;
}

async function collectBatches(
  dependencies: CollectRequestDependencies,
  request: CollectRequest,
  run: RepeatableRun | undefined,
): Promise<CollectTally> {
  const { stream, table, memory, late, dryRun } = request;
  const collect = dryRun ? dependencies.check : dependencies.collect;
  const tally: CollectTally = { taken: 0, rejected: 0, leftOut: 0, errors: [] };
  let position = 0;
  const batches = batchesOf(request, MAX_BATCH_WEIGHT, ({ item, value }) => weightOf(item.bytes, value));
  for await (const batch of batches) {
    const first = position;
    position += batch.length;
    const ids = await run?.idsFor(batch.map(({ item }) => item.text));
    if (run?.isFinished) {
      memory.progressed();
      continue;
    }
    const arrival = run?.arrival ?? dependencies.arrivalClock();
    const possiblyStoredSince = run?.repeatedSince;
    const now = dependencies.clock();
    const issues = batch.map(({ value, issue }) => (value === undefined ? issue : aheadIssue(value, now)));
    const messages = batch.map(({ item, value: message }, i): BatchMessage | undefined => {
      if (message === undefined || issues[i] !== undefined) return undefined;
      return {
        id: message.lastingId ?? ids?.[i] ?? newMessageId(),
        possiblyStoredSince,
        version: { ...timesOf(message, arrival), position: first + i },
        weight: weightOf(item.bytes, message),
        message,
        table,
        stream: message.stream ?? stream,
        hashes: message.identities.map((identity) => dependencies.hashIdentity(table.name, identity)),
        late,
      };
    });
    const outcomes = await collect(messages.filter((message) => message !== undefined));
    for (const [i, { item, value }] of batch.entries()) {
      const outcome = value && outcomes.get(value);
      tally.leftOut += outcome?.leftOut?.length ?? 0;
      const issue = issues[i] ?? outcome?.issue;
      countMessage(tally, item, issue);
      if (issue !== undefined && !dryRun) dependencies.countRejected(1, issue.code);
    }
    memory.progressed();
  }
  if (position === 0) throw invalid("empty", "", "The request has no messages");
  return tally;
}

/** Counts a message as rejected when it has an issue, otherwise as accepted. */
function countMessage(
  tally: CollectTally,
  item: RequestItem<ParsedMessage>,
  issue: (Omit<ValidationIssue, "path"> & { path?: string }) | undefined,
): void {
  if (issue === undefined) {
    tally.taken += 1;
    return;
  }
  tally.rejected += 1;
  if (tally.errors.length < NAMED_ERRORS) tally.errors.push({ ...issue, path: item.place(issue.path ?? "") });
}

/** Returns the event time of a message, and its arrival, which is never the event time that a message names. */
function timesOf({ time }: ParsedMessage, arrival: number): Pick<Version, "time" | "arrival"> {
  return { time: time ?? arrival, arrival: time === arrival ? arrival + ARRIVAL_STEP_MS / 2 : arrival };
}
