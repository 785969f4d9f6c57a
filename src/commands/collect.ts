import { createHash } from "node:crypto";
import { Argument, Command, Option } from "commander";
import { StartError } from "../errors.js";
import { streamNamePattern, streamNameRule } from "../reserved-names.js";
import { formatOf, type Message, type MessageFormat, messageFormats, readMessages } from "./message-file.js";
import { counted } from "./progress.js";
import { runCommand, UsageError } from "./run-command.js";
import { URL_HELP } from "./running-service.js";
import { type Sending, sendFiles } from "./send-files.js";
import { lineIssue, sendMessages } from "./send-messages.js";

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
    const messages = await sendMessages(
      {
        label: "collecting",
        read: (onBytes) => readMessages(file, options.format ?? formatOf(file), onBytes),
        chunkSize: CHUNK_MESSAGES,
        again: "messages already sent count once",
      },
      sending,
      (chunk) => sendChunk(chunk, options, sending),
    );
    if (messages + sending.rejections.count === 0) throw new StartError(`${file} contains no message`);
    return `${counted(messages, "message")} collected`;
  });
}

/**
 * Sends a chunk and resolves with the number of accepted messages. The Idempotency-Key derives from its position, its
 * content and the options, so a chunk sent again within 24 hours counts once.
 */
async function sendChunk(
  chunk: readonly Message[],
  { stream, table, timestampField }: Options,
  { client, signal, rejections }: Sending,
): Promise<number> {
  const body = chunk.map(({ text }) => text).join("\n");
  const key = createHash("sha256")
    .update(JSON.stringify([stream, table ?? null, timestampField ?? null, chunk[0]?.number, body]))
    .digest("hex");
  const query = { table, timestamp_field: timestampField };
  const { message_count, errors } = await client.collectLines(stream, body, key, query, { signal });
  for (const error of errors) {
    const line = chunk[Number(/^line (\d+)/.exec(error.path)?.[1]) - 1];
    rejections.add(line?.number ?? 0, lineIssue(error));
  }
  return message_count;
}
