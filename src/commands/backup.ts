import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { readSettings } from "../config.js";
import { StartError } from "../errors.js";
import { copyDatabase } from "../stores/sqlite/copy-database.js";
import { foldersOf } from "../stores/sqlite/folders.js";

const program = new Command("backup")
  .usage("-- DIR [--ledger LEDGER_DIR]")
  .description(
    "Copies the embedded stores, as they are at one moment each, while the service runs. Earlier copies in DIR are replaced.",
  )
  .argument("<dir>", "folder for entities.db and metrics.db, and for ledger.db unless --ledger names another")
  .option("--ledger <dir>", "folder for ledger.db alone, so that just its newest copy is kept")
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));
program.parse();

const [dir = ""] = program.args;
const { ledger = dir } = program.opts<{ ledger?: string }>();
try {
  await backUp(resolve(dir), resolve(ledger));
} catch (error) {
  process.stderr.write(
    `${error instanceof StartError ? error.message : `The backup failed: ${(error as Error).message}`}\n`,
  );
  process.exit(1);
}

/** Data first, the ledger last: every entity in the copy has its key in the ledger's, and what was erased meanwhile is named there. */
async function backUp(dir: string, ledgerDir: string): Promise<void> {
  const { data, entities, metrics } = foldersOf(readSettings(process.env));
  if ([data, entities, metrics].includes(dir) || [data, entities, metrics].includes(ledgerDir)) {
    throw new StartError("The folder for the copies must be another than that of the data");
  }
  for (const folder of [dir, ledgerDir]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  await copy(join(entities, "entities.db"), join(dir, "entities.db"));
  await copy(join(metrics, "metrics.db"), join(dir, "metrics.db"));
  await copy(join(entities, "ledger.db"), join(ledgerDir, "ledger.db"));
  process.stdout.write(`Copied to ${dir}${ledgerDir === dir ? "" : ` and ${ledgerDir}`}.

ledger.db holds the key of every profile: keep its newest copy only, and always start restored data on the newest
ledger, or erased people could be read again. The pepper is not copied: keep ${join(data, "pepper")} (or your
PEPPER) in a safe place of its own; without it and the ledger no profile can be read.
`);
}

/** Copies one file; a line every few seconds tells how far it is. */
async function copy(from: string, to: string): Promise<void> {
  const start = Date.now();
  let told = start;
  await copyDatabase(from, to, (done, pages) => {
    if (Date.now() - told < 2000) return;
    told = Date.now();
    process.stderr.write(`${from}: ${Math.floor((100 * done) / Math.max(1, pages))} %\n`);
  });
  process.stderr.write(`${from} -> ${to} (${((Date.now() - start) / 1000).toFixed(1)} s)\n`);
}
