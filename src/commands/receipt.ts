import { readFileSync } from "node:fs";
import { Argument, Command } from "commander";
import { compactVerify, createLocalJWKSet, type JWK } from "jose";
import { withTimeLimit } from "../async/time-limit.js";
import { ApiError } from "../client/client.js";
import { StartError } from "../errors.js";
import { runCommand, UsageError } from "./run-command.js";
import { requireKey, serviceClient, serviceUrl, URL_HELP } from "./running-service.js";

/** Time limit of a download, ms. */
const DOWNLOAD_MS = 5_000;

const command = new Command("npm run receipt --")
  .description("Fetches or verifies the signed receipt of a completed deletion.")
  .addArgument(new Argument("<action>", "what to do").choices(["get", "verify"]))
  .argument("<what>", "get: request id of the deletion; verify: file with a receipt, or one a line; - is stdin")
  .option("--keys <place>", "file or URL of the public keys (default: the keys of the service)")
  .option("--url <address>", URL_HELP)
  .addHelpText(
    "after",
    `
Examples:
  npm run receipt -- get 0123456789abcdef0123-1700000000 > receipt.jws
  npm run receipt -- verify receipt.jws
  npm run receipt -- verify receipt.jws --keys jwks.json

get reads an API key (scope entity:delete) from ENTITY_METRICS_KEY and writes the receipt, alone, to stdout. verify needs
no key and, with a file of public keys, no service; it writes the contents of the receipt as JSON to stdout.
Exit codes: 0 done, the receipt is valid; 1 failed, or the receipt is not valid; 2 wrong usage.`,
  );

await runCommand(command, async () => {
  const [action, what = ""] = command.args;
  const { keys, url } = command.opts<{ keys?: string; url?: string }>();
  if (action === "get" && keys !== undefined) throw new UsageError("--keys is only for verify");
  const address = () => serviceUrl(url, process.env);
  const text = action === "get" ? await getReceipt(address(), what) : await verifyReceipts(address, what, keys);
  process.stdout.write(`${text}\n`);
  return 0;
});

async function getReceipt(url: string, id: string): Promise<string> {
  const client = serviceClient(url, requireKey(process.env.ENTITY_METRICS_KEY));
  return client.receipt(id).catch((error: unknown) => {
    const { status } = error instanceof ApiError ? error : {};
    if (status === 404) throw new StartError("There is no deletion with this request id", { cause: error });
    if (status === 409) throw new StartError("The deletion is not completed yet", { cause: error });
    throw error;
  });
}

async function verifyReceipts(address: () => string, file: string, jwks: string | undefined): Promise<string> {
  const receipts = readText(file).trim().split(/\s+/);
  const { keys } = (jwks === undefined ? await serviceClient(address(), undefined).jwks() : await readKeys(jwks)) ?? {};
  if (!Array.isArray(keys)) throw new StartError(`${jwks} contains no public keys (a JSON object with keys)`);
  const claims: string[] = [];
  for (const [index, receipt] of receipts.entries()) {
    try {
      const keySet = createLocalJWKSet({ keys: keys as JWK[] });
      const { payload } = await compactVerify(receipt, keySet, { algorithms: ["EdDSA"] });
      claims.push(JSON.stringify(JSON.parse(Buffer.from(payload).toString()), null, 2));
    } catch (error) {
      const name = receipts.length === 1 ? "The receipt" : `Receipt ${index + 1} of ${receipts.length}`;
      throw new StartError(`${name} is not valid: ${(error as Error).message}`, { cause: error });
    }
  }
  process.stderr.write(claims.length === 1 ? "The receipt is valid\n" : `All ${claims.length} receipts are valid\n`);
  return claims.join("\n");
}

async function readKeys(place: string): Promise<{ readonly keys?: unknown } | null> {
  const text = /^https?:/.test(place) ? await download(place) : readText(place);
  try {
    return JSON.parse(text);
  } catch {
    throw new StartError(`${place} is not JSON`);
  }
}

async function download(url: string): Promise<string> {
  try {
    return await withTimeLimit(DOWNLOAD_MS, [], async (signal) => {
      const response = await fetch(url, { signal });
      if (response.ok) return response.text();
      throw new StartError(`${url} answered ${response.status}`);
    });
  } catch (error) {
    if (error instanceof StartError) throw error;
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new StartError(`${url} ${isLate ? `timed out after ${DOWNLOAD_MS / 1000} s` : "is unreachable"}`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new StartError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
