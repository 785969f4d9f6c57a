import { renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { Command } from "commander";
import { StartError } from "../errors.js";
import { InterruptedError, onInterrupt, runCommand, UsageError } from "./run-command.js";
import { requireKey, serviceClient, serviceUrl, URL_HELP } from "./running-service.js";

const command = new Command("npm run export --")
  .description("Writes all data that a running service stores about one person, as JSON lines.")
  .requiredOption("--table <table>", "table of the entity, such as user")
  .requiredOption("--field <field>", "identity field, such as email")
  .option("--value <value>", "the identity; default or -: read from stdin", "-")
  .option("--out <file>", "output file (default: stdout); created only when the export is complete")
  .option("--url <address>", URL_HELP)
  .addHelpText(
    "after",
    `
The API key (scope entity:export) is read from ENTITY_METRICS_KEY.

An identity from stdin appears neither in the shell history nor in the process list:
  npm run export -- --table user --field email --out ada.ndjson < identity.txt
Exit codes: 0 done, including the last line { "type": "end" }; 1 failed; 2 wrong usage; 130 interrupted.`,
  );

interface Options {
  readonly table: string;
  readonly field: string;
  readonly value: string;
  readonly out?: string;
  readonly url?: string;
}

await runCommand(command, async () => {
  const { table, field, value: given, out, url } = command.opts<Options>();
  const client = serviceClient(serviceUrl(url, process.env), requireKey(process.env.ENTITY_METRICS_KEY));
  const value = given === "-" ? (await text(process.stdin)).trim() : given;
  if (value === "") throw new UsageError("The identity is missing: use --value or stdin");
  const stop = new AbortController();
  onInterrupt(() => stop.abort());
  const lines = texts(client.exportEntity(table, field, value, { signal: stop.signal }));
  try {
    if (out === undefined) await pipeline(lines, process.stdout, { end: false });
    else await writeWhole(out, lines);
  } catch (error) {
    throw stop.signal.aborted ? new InterruptedError("Stopped: the export is incomplete", { cause: error }) : error;
  }
  return 0;
});

async function* texts(lines: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const line of lines) yield `${JSON.stringify(line)}\n`;
}

/** Writes a file that only its owner may read, and renames it when complete. */
async function writeWhole(file: string, lines: AsyncIterable<string>): Promise<void> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    throw new StartError(`${file} exists and is not a regular file`);
  }
  const part = `${file}.part`;
  // Open first: if reading fails during the opening, the part would not be removed.
  const opened = await open(part, "w", 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw new StartError(`${file} cannot be written (${code})`);
  });
  try {
    await pipeline(lines, opened.createWriteStream());
    renameSync(part, file);
  } finally {
    rmSync(part, { force: true });
  }
}
