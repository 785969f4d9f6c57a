import { statSync } from "node:fs";
import { Argument, Command } from "commander";
import { StartError } from "../errors.js";
import { streamNamePattern } from "../http/schemas/collect.js";
import { readMessages } from "./collect/read-messages.js";
import { type Sent, sendMessages } from "./collect/send-messages.js";
import { megabytes, Progress } from "./progress.js";
import { runCommand, UsageError } from "./run-command.js";
import { serviceClient } from "./service-client.js";

interface Options {
  readonly stream: string;
  readonly table?: string;
  readonly timestampField?: string;
  readonly url: string;
}

const command = new Command("collect")
  .description("Sends the messages of a file to a running service, in order.")
  .addArgument(new Argument("<file>", "lines of JSON, or one JSON array; plain or gzip; - is stdin"))
  .requiredOption("--stream <name>", "stream that the messages belong to")
  .option("--table <name>", "table of the entities (default: user)")
  .option(
    "--timestamp-field <name>",
    "attribute that holds the event time (default: a message happens when it arrives)",
  )
  .option("--url <address>", "where the service is", "http://127.0.0.1:8080")
  .addHelpText(
    "after",
    `
The API key (scope entity:write) is read from ENTITY_METRICS_KEY.

What was interrupted is run again by the same command: within 24 hours each message counts once.
Exit codes: 0 all were taken in; 1 failed, or some were rejected (the rest was sent); 2 wrong usage.`,
  );

await runCommand(command, () => collect(command.args[0] as string, command.opts<Options>()));

async function collect(file: string, { stream, table, timestampField, url }: Options): Promise<number> {
  if (!new RegExp(streamNamePattern).test(stream)) {
    throw new UsageError("--stream is 1 to 128 of letters, digits, _ . -");
  }
  if (timestampField === "") throw new UsageError("--timestamp-field is the name of an attribute, not empty");
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const { signal } = stop;
  const progress = new Progress("collecting", { unit: "MB", total: sizeOf(file), format: megabytes });
  const say = (line: string) => progress.say(line);
  const client = serviceClient({ url, key: process.env.ENTITY_METRICS_KEY, say, signal });
  const sent: Sent = { taken: 0, rejected: 0, line: 0 };
  const reject = (line: number, reason: string) => say(`${file}:${line}: rejected: ${reason}`);
  try {
    const messages = readMessages(file, (bytes) => progress.update(bytes));
    await sendMessages(messages, { client, stream, table, timestampField, signal, reject }, sent);
  } catch (error) {
    if (!signal.aborted && !(error instanceof StartError)) throw error;
    const reason = signal.aborted ? "Stopped" : (error as StartError).message;
    const place = sent.line === 0 ? "Nothing is known to be sent" : `The file is sent up to line ${sent.line}`;
    throw new StartError(`${reason}. ${place}. The same command again is safe: what was sent counts once`);
  } finally {
    progress.finish();
  }
  process.stdout.write(`${sent.taken} messages collected`);
  process.stdout.write(sent.rejected === 0 ? "\n" : `, ${sent.rejected} rejected\n`);
  if (sent.taken + sent.rejected === 0) throw new StartError(`${file} holds no message`);
  return sent.rejected === 0 ? 0 : 1;
}

/** Bytes of the file; undefined when it is a stream. */
function sizeOf(file: string): number | undefined {
  if (file === "-") return undefined;
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) throw new StartError(`${file}: there is no such file`);
  if (stat.isDirectory()) throw new StartError(`${file} is a folder, not a file`);
  return stat.size;
}
