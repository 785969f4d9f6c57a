import { createHash } from "node:crypto";
import { repeat } from "../../async/retry.js";
import { StartError } from "../../errors.js";
import { type Line, lineIssues } from "../../formats/line-splitter.js";
import type { LineIssue } from "../rejections.js";
import type { ServiceAnswer, ServiceClient } from "../service-client.js";

/** As many messages a request as an answer names issues of: so each rejection can be named. */
const CHUNK_MESSAGES = 100;
const CHUNK_BYTES = 1024 * 1024;

/** A chunk that an interrupted run sent may still be under way; its key is free again after a minute. */
const BUSY_TRIES = 45;
const BUSY_WAIT_MS = 2_000;

export interface SendOptions {
  readonly client: ServiceClient;
  readonly stream: string;
  readonly table: string | undefined;
  readonly timestampField: string | undefined;
  readonly signal: AbortSignal;
  /** Told of each message that is not taken in. */
  reject(line: number, issue: LineIssue): void;
}

/** What has been sent so far. */
export interface Sent {
  taken: number;
  /** The last line of the file that was sent. */
  line: number;
}

/**
 * Sends messages in order, chunk by chunk, and keeps `sent` up to date. Each chunk has an Idempotency-Key made from where it
 * stands, its content and the options: sent again within 24 hours it counts once.
 */
export async function sendMessages(messages: AsyncIterable<Line[]>, options: SendOptions, sent: Sent): Promise<void> {
  for await (const chunk of chunksOf(messages)) {
    const good = chunk.filter((line) => line.issue === undefined);
    for (const { number, issue } of chunk) {
      if (issue !== undefined) options.reject(number, { code: issue, message: lineIssues[issue] });
    }
    if (good.length > 0) await sendChunk(good, options, sent);
    sent.line = chunk.at(-1)?.number ?? sent.line;
  }
}

async function* chunksOf(messages: AsyncIterable<Line[]>): AsyncGenerator<Line[]> {
  let chunk: Line[] = [];
  let bytes = 0;
  for await (const lines of messages) {
    for (const line of lines) {
      chunk.push(line);
      bytes += line.text.length;
      if (chunk.length < CHUNK_MESSAGES && bytes < CHUNK_BYTES) continue;
      yield chunk;
      chunk = [];
      bytes = 0;
    }
  }
  if (chunk.length > 0) yield chunk;
}

async function sendChunk(chunk: readonly Line[], options: SendOptions, sent: Sent): Promise<void> {
  const { stream, table, timestampField } = options;
  const query = new URLSearchParams();
  if (table !== undefined) query.set("table", table);
  if (timestampField !== undefined) query.set("timestamp_field", timestampField);
  const body = chunk.map(({ text }) => text).join("\n");
  const key = createHash("sha256")
    .update(JSON.stringify([stream, table ?? null, timestampField ?? null, chunk[0]?.number, body]))
    .digest("hex");
  const answer = await post(`/collect/json/${stream}?${query}`, body, key, options);
  if (answer.status !== 200) throw new StartError(`The service answered ${answer.status}: ${messageOf(answer)}`);
  const { message_count, errors } = (answer.body as { data: Tally }).data;
  sent.taken += message_count;
  for (const { code, path, message } of errors) {
    const line = chunk[Number(/^line (\d+)/.exec(path)?.[1]) - 1];
    const field = /^line \d+, (.+)$/.exec(path)?.[1];
    options.reject(line?.number ?? 0, { code, message: field === undefined ? message : `${field}: ${message}` });
  }
}

interface Tally {
  readonly message_count: number;
  readonly errors: readonly (LineIssue & { readonly path: string })[];
}

function post(path: string, body: string, key: string, { client, signal }: SendOptions): Promise<ServiceAnswer> {
  const headers = { "Content-Type": "application/x-ndjson", "Idempotency-Key": key };
  const pauseAfter = ({ status }: ServiceAnswer, attempt: number) =>
    status === 409 && attempt < BUSY_TRIES ? BUSY_WAIT_MS : undefined;
  return repeat(() => client.post(path, body, headers), pauseAfter, { signal });
}

function messageOf({ body }: ServiceAnswer): string {
  const { message, errors } = (body ?? {}) as { message?: unknown; errors?: readonly { message?: unknown }[] };
  return String(errors?.[0]?.message ?? message ?? "it does not say why");
}
