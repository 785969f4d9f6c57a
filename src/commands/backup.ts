import { basename, join, resolve } from "node:path";
import { Command } from "commander";
import { readSettings } from "../config.js";
import { StartError } from "../errors.js";
import { copyDatabase } from "../stores/sqlite/copy-database.js";
import { makeFolder } from "../stores/sqlite/folder-lock.js";
import { foldersOf } from "../stores/sqlite/folders.js";
import { Progress } from "./progress.js";
import { runCommand } from "./run-command.js";

const command = new Command("npm run backup --")
  .description(
    "Copies the embedded stores while the service runs, each as it is at one moment. Copies already there are replaced.",
  )
  .argument("<dir>", "folder for entities.db and metrics.db, and for ledger.db unless --ledger names another")
  .option("--ledger <dir>", "folder for ledger.db alone, so that just its newest copy is kept");

// The copies are for their owner alone.
process.umask(0o077);

await runCommand(command, async () => {
  const [dir = ""] = command.args;
  await backUp(resolve(dir), resolve(command.opts<{ ledger?: string }>().ledger ?? dir));
  return 0;
});

/** Data first, the ledger last: every entity in the copy has its key in the ledger's, and what was erased meanwhile is named there. */
async function backUp(dir: string, ledgerDir: string): Promise<void> {
  const { data, entities, metrics } = foldersOf(readSettings(process.env));
  if ([dir, ledgerDir].some((folder) => [data, entities, metrics].includes(folder))) {
    throw new StartError("The folder for the copies must be another than that of the data");
  }
  for (const folder of [dir, ledgerDir]) makeFolder(folder);
  await copy(join(entities, "entities.db"), dir);
  await copy(join(metrics, "metrics.db"), dir);
  await copy(join(entities, "ledger.db"), ledgerDir);
  process.stdout.write(`Copied to ${ledgerDir === dir ? dir : `${dir} and ${ledgerDir}`}.

ledger.db holds the key of every profile: keep its newest copy only, and start restored data beside the newest ledger,
or erased people could be read again. The pepper is not copied: keep ${join(data, "pepper")} (or your PEPPER) in a
safe place of its own. Without pepper and ledger no profile can be read.
`);
}

async function copy(from: string, dir: string): Promise<void> {
  const name = basename(from);
  let progress: Progress | undefined;
  await copyDatabase(from, join(dir, name), (done, pages) => {
    progress ??= new Progress(name, { unit: "pages", total: pages });
    progress.update(done);
  });
  progress?.finish();
}
