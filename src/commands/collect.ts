import { createHash } from "node:crypto";
import { Argument, Command, Option } from "commander";
import { StartError } from "../errors.js";
import { streamNamePattern, streamNameRule } from "../metrics/dimensions.js";
import {
  formatOf,
  type Message,
  type MessageFormat,
  messageFormats,
  messageIssues,
  readMessages,
} from "./message-file.js";
import { counted, megabytes } from "./progress.js";
import { runCommand, UsageError } from "./run-command.js";
import { URL_HELP } from "./running-service.js";
import { endedAt, type Sending, sendFiles } from "./send-files.js";

interface Options {
  readonly stream: string;
  readonly table?: string;
  readonly timestampField?: string;
  readonly format?: MessageFormat;
  readonly url?: string;
  readonly rejects?: string;
}

/** The service reports at most 100 rejections per request, so a request carries at most 100 messages. */
const CHUNK_MESSAGES = 100;
const CHUNK_BYTES = 1024 * 1024;

const command = new Command("npm run collect --")
  .description("Sends the messages of a file to a running service, in order.")
  .addArgument(
    new Argument("<file>", "lines of JSON, one JSON array of at most 16 MiB, or CSV; plain or gzip; - is stdin"),
  )
  .requiredOption("--stream <name>", "stream that the messages belong to")
  .option("--table <name>", "table of the entities (default: user)")
  .option(
    "--timestamp-field <name>",
    "attribute that holds the event time (default: a message happens when it arrives)",
  )
  .addOption(
    new Option("--format <format>", "format of the file (default: csv for .csv and .csv.gz, else json)").choices(
      messageFormats,
    ),
  )
  .option("--rejects <file>", "file for all rejections, a line of JSON { line, code, message } each")
  .option("--url <address>", URL_HELP)
  .addHelpText(
    "after",
    `
The API key (scope entity:write) is read from ENTITY_METRICS_KEY.

CSV has a header of attribute names; each cell is a string, and an empty one is absent.
After an interruption run the same command again: within 24 hours each message counts once.
Exit codes: 0 all were accepted; 1 failed; 2 wrong usage; 3 some were rejected, the rest was sent; 130 interrupted.`,
  );

await runCommand(command, () => collect(command.args[0] as string, command.opts<Options>()));

async function collect(file: string, options: Options): Promise<number> {
  if (!new RegExp(streamNamePattern).test(options.stream)) {
    throw new UsageError(`--stream: ${streamNameRule}`);
  }
  if (options.timestampField === "") throw new UsageError("--timestamp-field is the name of an attribute, not empty");
  return sendFiles([file], options, async (sending) => {
    const { bytes, signal, rejections } = sending;
    const sent = { messages: 0, line: 0 };
    await sending.stage("collecting", { unit: "MB", total: bytes, format: megabytes }, async (progress) => {
      const messages = readMessages(file, options.format ?? formatOf(file), (read) => progress.update(read));
      try {
        await sendMessages(messages, options, sending, sent);
      } catch (error) {
        const place = sent.line === 0 ? "Nothing was confirmed as sent" : `The file is sent up to line ${sent.line}`;
        throw endedAt(
          `${place}. Running the same command again is safe: messages already sent count once`,
          error,
          signal,
        );
      }
    });
    if (sent.messages + rejections.count === 0) throw new StartError(`${file} contains no message`);
    return `${counted(sent.messages, "message")} collected`;
  });
}

/** Progress of sending. */
interface Sent {
  messages: number;
  /** Last line of the file that was sent. */
  line: number;
}

/**
 * Sends messages in order in chunks and updates `sent`. The Idempotency-Key of a chunk derives from its position, its
 * content and the options, so a chunk sent again within 24 hours counts once.
 */
async function sendMessages(
  messages: AsyncIterable<Message[]>,
  options: Options,
  sending: Sending,
  sent: Sent,
): Promise<void> {
  for await (const chunk of chunksOf(messages)) {
    const good = chunk.filter((line) => line.issue === undefined);
    for (const { number, issue } of chunk) {
      if (issue !== undefined) sending.rejections.add(number, { code: issue, message: messageIssues[issue] });
    }
    if (good.length > 0) await sendChunk(good, options, sending, sent);
    sent.line = chunk.at(-1)?.number ?? sent.line;
  }
}

async function* chunksOf(messages: AsyncIterable<Message[]>): AsyncGenerator<Message[]> {
  let chunk: Message[] = [];
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

async function sendChunk(
  chunk: readonly Message[],
  { stream, table, timestampField }: Options,
  sending: Sending,
  sent: Sent,
): Promise<void> {
  const body = chunk.map(({ text }) => text).join("\n");
  const key = createHash("sha256")
    .update(JSON.stringify([stream, table ?? null, timestampField ?? null, chunk[0]?.number, body]))
    .digest("hex");
  const { client, signal } = sending;
  const query = { table, timestamp_field: timestampField };
  const { message_count, errors } = await client.collectLines(stream, body, key, query, { signal });
  sent.messages += message_count;
  for (const { code, path, message } of errors) {
    const line = chunk[Number(/^line (\d+)/.exec(path)?.[1]) - 1];
    const field = /^line \d+, (.+)$/.exec(path)?.[1];
    sending.rejections.add(line?.number ?? 0, {
      code,
      message: field === undefined ? message : `${field}: ${message}`,
    });
  }
}
