import { statSync } from "node:fs";
import { Argument, Command } from "commander";
import { StartError } from "../errors.js";
import { streamNamePattern } from "../metrics/dimensions/stream.js";
import { readMessages } from "./collect/read-messages.js";
import { type Sent, sendMessages } from "./collect/send-messages.js";
import { megabytes, Progress } from "./progress.js";
import { type LineIssue, Rejections } from "./rejections.js";
import { InterruptedError, onInterrupt, REJECTED, runCommand, UsageError } from "./run-command.js";
import { serviceClient } from "./service-client.js";
import { serviceUrl, URL_HELP } from "./service-url.js";

interface Options {
  readonly stream: string;
  readonly table?: string;
  readonly timestampField?: string;
  readonly url?: string;
  readonly rejects?: string;
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
  .option("--rejects <file>", "file for all rejections, a line of JSON { line, code, message } each")
  .option("--url <address>", URL_HELP)
  .addHelpText(
    "after",
    `
The API key (scope entity:write) is read from ENTITY_METRICS_KEY.

What was interrupted is run again by the same command: within 24 hours each message counts once.
Exit codes: 0 all were taken in; 1 failed; 2 wrong usage; 3 some were rejected, the rest was sent; 130 interrupted.`,
  );

await runCommand(command, () => collect(command.args[0] as string, command.opts<Options>()));

async function collect(file: string, { stream, table, timestampField, url, rejects }: Options): Promise<number> {
  if (!new RegExp(streamNamePattern).test(stream)) {
    throw new UsageError("--stream is 1 to 128 of letters, digits, _ . -");
  }
  if (timestampField === "") throw new UsageError("--timestamp-field is the name of an attribute, not empty");
  const stop = new AbortController();
  onInterrupt(() => stop.abort());
  const { signal } = stop;
  const progress = new Progress("collecting", { unit: "MB", total: sizeOf(file), format: megabytes });
  const say = (line: string) => progress.say(line);
  const address = serviceUrl(url, process.env);
  const client = serviceClient({ url: address, key: process.env.ENTITY_METRICS_KEY, say, signal });
  const rejections = new Rejections([file], rejects);
  rejections.sayBy(say);
  const sent: Sent = { taken: 0, line: 0 };
  const reject = (line: number, issue: LineIssue) => rejections.add(line, issue);
  try {
    const messages = readMessages(file, (bytes) => progress.update(bytes));
    await sendMessages(messages, { client, stream, table, timestampField, signal, reject }, sent);
  } catch (error) {
    if (!signal.aborted && !(error instanceof StartError)) throw error;
    const place = sent.line === 0 ? "Nothing is known to be sent" : `The file is sent up to line ${sent.line}`;
    const rest = `${place}. The same command again is safe: what was sent counts once`;
    if (signal.aborted) throw new InterruptedError(`Stopped. ${rest}`);
    throw new StartError(`${(error as StartError).message}. ${rest}`);
  } finally {
    progress.finish();
    rejections.close();
  }
  process.stdout.write(`${sent.taken} messages collected`);
  process.stdout.write(rejections.count === 0 ? "\n" : `, ${rejections.count} rejected\n`);
  if (sent.taken + rejections.count === 0) throw new StartError(`${file} holds no message`);
  return rejections.count === 0 ? 0 : REJECTED;
}

/** Bytes of the file; undefined when it is a stream. */
function sizeOf(file: string): number | undefined {
  if (file === "-") return undefined;
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) throw new StartError(`${file}: there is no such file`);
  if (stat.isDirectory()) throw new StartError(`${file} is a folder, not a file`);
  return stat.size;
}
