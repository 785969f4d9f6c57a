import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Argument, Command, Option } from "commander";
import { backoff } from "../async/retry.js";
import { ApiError } from "../client/client.js";
import type { IdentityFileOptions } from "../entities/identity-file/identity-line.js";
import { identityFormats } from "../entities/identity-file/identity-reader.js";
import { StartError } from "../errors.js";
import { readIdentities } from "./identity-file.js";
import type { Message } from "./message-file.js";
import { counted } from "./progress.js";
import { print, runCommand, UsageError } from "./run-command.js";
import { URL_HELP } from "./running-service.js";
import { endedAt, type Sending, sendFiles } from "./send-files.js";
import { lineIssue, sendMessages } from "./send-messages.js";

interface Options extends IdentityFileOptions {
  readonly wait?: boolean;
  readonly receipts?: string;
  readonly rejects?: string;
  readonly url?: string;
}

const CHUNK_IDENTITIES = 1_000;

/** First and maximum wait between two requests for the status of a deletion, ms. */
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 2_000;

const AGAIN = "for 24 hours it prints the same request ids";

const command = new Command("npm run erase --")
  .description("Requests the deletion of every person in a file from a running service, permanently.")
  .addArgument(
    new Argument("<file>", "CSV, JSON with an identity per line, or plain values (--field); plain or gzip; - is stdin"),
  )
  .option("--table <name>", "table of identities that have none (default: user)")
  .option("--field <name>", "identity field of plain values, such as email; of CSV: the only column to read")
  .addOption(
    new Option("--format <format>", "format of the file (default: by its name, else by its first line)").choices(
      identityFormats,
    ),
  )
  .option("--wait", "end when every deletion is completed")
  .option("--receipts <folder>", "wait, and store the receipt of each deletion as <request id>.jws; makes the folder")
  .option("--rejects <file>", "file for all rejections, a line of JSON { line, code, message } each")
  .option("--url <address>", URL_HELP)
  .addHelpText(
    "after",
    `
The API key (scope entity:delete) is read from ENTITY_METRICS_KEY.

CSV has a header, and commas, semicolons or tabs between its cells:
  table,field,value    an identity per row; the column table is optional
  user_id,email,name   columns of identity fields, and any others; one deletion per row, by its strongest identity.
                       With --field email only this column is read
Case, blanks, - and _ within a name do not matter: E-Mail is email. A cell such as NULL or \\N, which identifies no one,
counts as empty. JSON has an object { "table", "field", "value" } per line, or is one array of them of at most 16 MiB;
table is optional. A file without a header needs --field: each line is one value.
The text is UTF-8, or UTF-16 with a byte order mark. Blank lines are skipped. A line that the service would not accept
as an identity is rejected and not sent.

stdout has a line for each accepted deletion, "<line of the file> <request id>", and nothing else.
For 24 hours a file with the same options and key is one request: run again, also after an interruption, the command
prints the same request ids and requests nothing twice.
Exit codes: 0 all were accepted; 1 failed; 2 wrong usage; 3 some were rejected, the rest was sent; 130 interrupted.`,
  );

await runCommand(command, () => erase(command.args[0] as string, command.opts<Options>()));

async function erase(file: string, options: Options): Promise<number> {
  if (options.table === "") throw new UsageError("--table is the name of a table, not empty");
  if (options.field === "") throw new UsageError("--field is the name of an identity field, not empty");
  if (options.format === "values" && options.field === undefined) {
    throw new UsageError("--format values needs --field, the identity field of the values");
  }
  const send = (sending: Sending) => eraseAll(file, options, sending);
  return sendFiles([file], { ...options, summaryTo: process.stderr }, send);
}

async function eraseAll(file: string, options: Options, sending: Sending): Promise<string> {
  const { receipts, wait } = options;
  if (receipts !== undefined) makeFolder(receipts);
  const open: string[] = [];
  const accepted = await sendMessages(
    {
      label: "requesting deletions",
      read: (onBytes) => readIdentities(file, options, onBytes, sending),
      chunkSize: CHUNK_IDENTITIES,
      again: AGAIN,
    },
    sending,
    async (chunk) => {
      const ids = await sendChunk(chunk, options, sending);
      if (wait || receipts !== undefined) open.push(...ids);
      return ids.length;
    },
  );
  if (accepted + sending.rejections.count === 0) throw new StartError(`${file} contains no identity`);
  if (open.length === 0) return `${counted(accepted, "deletion")} requested`;
  const isCompleted = async (id: string) => (await sending.client.deletionStatus(id, sending)).completed;
  await waitForAll(open, receipts === undefined ? isCompleted : (id) => storeReceipt(receipts, id, sending), sending);
  return `${counted(accepted, "deletion")} completed`;
}

/**
 * Sends a chunk, prints the line and the request id of each accepted deletion, and resolves with the request ids. The
 * Idempotency-Key derives from the position and the content of the chunk: the same command gets the same request ids.
 */
async function sendChunk(
  chunk: readonly Message[],
  { table, field }: Options,
  { client, rejections, signal }: Sending,
): Promise<string[]> {
  const body = chunk.map(({ text }) => text).join("\n");
  const key = createHash("sha256")
    .update(JSON.stringify([table ?? null, field ?? null, chunk[0]?.number, body]))
    .digest("hex");
  const results = await client.deleteLines(body, key, { signal });
  const ids: string[] = [];
  let lines = "";
  for (const [i, result] of results.entries()) {
    const line = chunk[i]?.number ?? 0;
    if ("request_id" in result) {
      ids.push(result.request_id);
      lines += `${line} ${result.request_id}\n`;
    } else {
      for (const error of result.errors.slice(0, 1)) rejections.add(line, lineIssue(error));
    }
  }
  await print(lines);
  return ids;
}

/** Stores the receipt of a deletion in the folder. Resolves with false while the deletion is not completed. */
async function storeReceipt(folder: string, id: string, { client, signal }: Sending): Promise<boolean> {
  const receipt = await client.receipt(id, { signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 409) return undefined;
    throw error;
  });
  if (receipt !== undefined) await writeFile(join(folder, `${id}.jws`), receipt);
  return receipt !== undefined;
}

/** Waits for deletions in the order of their acceptance: most of them complete in this order. */
async function waitForAll(
  ids: readonly string[],
  isFinished: (id: string) => Promise<boolean>,
  { signal, stage }: Sending,
): Promise<void> {
  await stage("completing deletions", { unit: "deletion", total: ids.length }, async (progress) => {
    let finished = 0;
    try {
      for (const id of ids) {
        for (let poll = 1; !(await isFinished(id)); poll += 1) {
          await sleep(backoff(poll, FIRST_POLL_MS, MAX_POLL_MS), undefined, { signal });
        }
        finished += 1;
        progress.update(finished);
      }
    } catch (error) {
      const place = `All deletions are accepted, and ${finished} of ${ids.length} are known to be completed`;
      throw endedAt(`${place}. Running the same command again is safe: ${AGAIN}`, error, signal);
    }
  });
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new StartError(`${path} cannot be made (${(error as NodeJS.ErrnoException).code})`, { cause: error });
  }
}
