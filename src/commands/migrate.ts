import { Command } from "commander";
import { systemClock } from "../clock.js";
import { readSettings, type Settings } from "../config.js";
import { failpointFrom } from "../failpoint.js";
import { openLog } from "../log.js";
import { migrate } from "./migrate/migrate.js";
import { readTargets } from "./migrate/targets.js";
import { runCommand, UsageError } from "./run-command.js";

const command = new Command("npm run migrate --")
  .description("Copies an embedded data folder to servers: profiles to MongoDB, series to InfluxDB, or one of them.")
  .option("--from <dir>", "data folder of the service, which must not be running")
  .option("--from-metrics <dir>", "folder of metrics.db, where it is another")
  .option("--to <url>", "mongodb://…/database or influxdb://…?org=O&bucket=B; may be given twice", list)
  .addHelpText(
    "after",
    `
Without --to the targets are ENTITIES_URL and METRICS_URL of the environment, where passwords are not seen by others.
PEPPER must be that of the folder: PEPPER=base64:$(base64 < DIR/pepper | tr -d '\\n'), unless the service was given another.
INFLUX_TOKEN is the token of InfluxDB.

The folder is kept from being written to meanwhile. A target must be empty. When it was interrupted, run it again: it goes
on. At the end both sides are read again and compared; the exit code is 1 when something differs.`,
  );

await runCommand(command, async () => {
  const { from, fromMetrics, to } = command.opts<{ from?: string; fromMetrics?: string; to?: string[] }>();
  if (from === undefined) throw new UsageError("--from names the data folder to copy");
  const targets = readTargets(to, process.env);
  const settings = settingsFor(targets);
  const folder = from.replace(/^sqlite:/, "");
  return migrate({
    folder,
    metricsFolder: fromMetrics?.replace(/^sqlite:/, "") ?? folder,
    targets,
    settings,
    log: openLog("warn"),
    clock: systemClock,
    failpoint: failpointFrom(process.env),
    say: (text) => process.stdout.write(`${text}\n`),
  });
});

function list(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Settings of a service on the targets. */
function settingsFor({ entities, metrics }: { readonly entities?: string; readonly metrics?: string }): Settings {
  return readSettings({
    ...process.env,
    ENTITIES_URL: entities ?? "sqlite:",
    METRICS_URL: metrics ?? "sqlite:",
    JOBS_URL: "sqlite:",
  });
}
