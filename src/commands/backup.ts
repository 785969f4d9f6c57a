import { join, resolve } from "node:path";
import { Command } from "commander";
import { readSettings } from "../config/settings.js";
import { failpointFrom } from "../failpoint.js";
import { copyDatabase, removePart } from "../stores/sqlite/backup.js";
import { foldersOf, makeFolder } from "../stores/sqlite/folder.js";
import { refuseLiveFiles } from "./live-files.js";
import { Progress } from "./progress.js";
import { INTERRUPTED, onInterrupt, runCommand, UsageError } from "./run-command.js";

const command = new Command("npm run backup --")
  .description(
    "Copies the embedded stores while the service runs. Each copy is a consistent snapshot and replaces an existing one.",
  )
  .argument("<dir>", "folder for entities.db and metrics.db, and for ledger.db unless --ledger names another")
  .option("--ledger <dir>", "separate folder for ledger.db, to keep only its newest copy");

// Only the owner may read the copies.
process.umask(0o077);

await runCommand(command, async () => {
  const [dir = ""] = command.args;
  const { ledger = dir } = command.opts<{ ledger?: string }>();
  // An unset shell variable would otherwise put the keys into the current folder.
  if (dir === "" || ledger === "") throw new UsageError("A folder has an empty name");
  await backUp(resolve(dir), resolve(ledger));
  return 0;
});

/**
 * Copies the ledger last, so that it has the key of every entity in the copy and every deletion accepted during the
 * backup.
 */
async function backUp(dir: string, ledgerDir: string): Promise<void> {
  const folders = foldersOf(readSettings(process.env));
  const failpoint = failpointFrom(process.env);
  const { data, entities, metrics } = folders;
  const copies = [
    { from: entities, name: "entities.db", dir },
    { from: metrics, name: "metrics.db", dir },
    { from: entities, name: "ledger.db", dir: ledgerDir },
  ];
  refuseLiveFiles(folders, copies);
  for (const folder of [dir, ledgerDir]) makeFolder(folder);
  onInterrupt(() => {
    // Delete now: the native backup thread is still copying keys.
    for (const { name, dir } of copies) removePart(join(dir, name));
    process.stderr.write("\nStopped. Unfinished copies were removed\n");
    process.exit(INTERRUPTED);
  });
  for (const { from, name, dir } of copies) {
    let progress: Progress | undefined;
    await copyDatabase(join(from, name), join(dir, name), (done, pages) => {
      progress ??= new Progress(name, { unit: "page", total: pages });
      progress.update(done);
      failpoint("copied-pages");
    });
    progress?.finish();
  }
  process.stdout.write(`Copied to ${ledgerDir === dir ? dir : `${dir} and ${ledgerDir}`}.

ledger.db holds the key of every profile: keep its newest copy only, and start restored data next to the newest ledger,
or erased people become readable again. The pepper is not copied: keep ${join(data, "pepper")} (or your PEPPER) in a
safe place of its own. No profile can be read without the ledger. Servers also need the pepper.
`);
}
