import { Command } from "commander";
import { type Clock, systemClock } from "../clock.js";
import { readSettings, type Settings } from "../config/settings.js";
import { StartError } from "../errors.js";
import { type Failpoint, failpointFrom } from "../failpoint.js";
import { type Log, openLog } from "../log.js";
import type { ProfileSource, ProfileTarget, SeriesSource, SeriesTarget } from "../stores/copy.js";
import { pepperBytes, pepperFingerprint } from "../stores/pepper.js";
import { lockSource } from "../stores/sqlite/export.js";
import type { EngineDependencies } from "../stores/stores.js";
import { type Comparison, comparisonTable, isEqual } from "./migrate/comparison.js";
import { compareProfiles, compareSeries, copyProfiles, copySeries } from "./migrate/copy.js";
import { counted } from "./progress.js";
import { runCommand, UsageError } from "./run-command.js";

const command = new Command("npm run migrate --")
  .description("Copies an embedded data folder to servers: profiles to MongoDB, series to InfluxDB, or one of them.")
  .option("--from <dir>", "data folder of the service, which must not be running")
  .option("--from-metrics <dir>", "folder of metrics.db, if it differs")
  .option("--to <url>", "mongodb://…/database or influxdb://…?org=O&bucket=B; may be given twice", list)
  .addHelpText(
    "after",
    `
Without --to the targets are ENTITIES_URL and METRICS_URL of the environment, where other users cannot see passwords.
PEPPER must be the pepper of the folder: PEPPER=base64:$(base64 < DIR/pepper | tr -d '\\n'), unless the service was given another.
INFLUX_TOKEN is the token of InfluxDB.

No service can use the folder during the copy. A target must be empty. An interrupted migration starts over when it is run
again. At the end both sides are read again and compared; the exit code is 1 when something differs.`,
  );

/** Margin before the end of a store's retention, ms: older points are skipped, as they would expire during the copy. */
const RETENTION_MARGIN_MS = 3_600_000;

await runCommand(command, async () => {
  const { from, fromMetrics, to } = command.opts<{ from?: string; fromMetrics?: string; to?: string[] }>();
  if (from === undefined) throw new UsageError("--from is required: the data folder to copy");
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
  });
});

function list(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Returns the settings of a service on the targets. */
function settingsFor({ entities, metrics }: Targets): Settings {
  return readSettings({
    ...process.env,
    ENTITIES_URL: entities ?? "sqlite:",
    METRICS_URL: metrics ?? "sqlite:",
    JOBS_URL: "sqlite:",
  });
}

/** URLs of the servers to copy to; at least one. */
interface Targets {
  readonly entities: string | undefined;
  readonly metrics: string | undefined;
}

/** Returns the targets from `--to` or, without it, from the environment, by their engine. */
function readTargets(
  given: readonly string[] | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Targets {
  const { ENTITIES_URL = "", METRICS_URL = "" } = environment;
  const profiles = (given ?? [ENTITIES_URL]).filter((url) => /^mongodb(\+srv)?:/.test(url));
  const series = (given ?? [METRICS_URL]).filter((url) => /^influxdbs?:/.test(url));
  const known = profiles.length + series.length;
  if (given !== undefined && known < given.length)
    throw new UsageError("--to takes mongodb://… for profiles and influxdb://… for series");
  if (profiles.length > 1 || series.length > 1)
    throw new UsageError("--to was given twice for the same kind of server");
  if (known === 0) {
    throw new UsageError(
      "--to names the servers to copy to: mongodb://…/database, influxdb://…?org=O&bucket=B, or both",
    );
  }
  return { entities: profiles[0], metrics: series[0] };
}

async function openProfileTarget(dependencies: EngineDependencies): Promise<ProfileTarget> {
  return (await import("../stores/mongodb/import.js")).openMongoImport(dependencies);
}

async function openSeriesTarget(dependencies: EngineDependencies): Promise<SeriesTarget> {
  return (await import("../stores/influxdb/import.js")).openInfluxImport(dependencies);
}

interface Migration {
  readonly folder: string;
  readonly metricsFolder: string;
  readonly targets: Targets;
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  /** Reaches `copied-series` and `copied-records` after each batch. */
  readonly failpoint: Failpoint;
}

/**
 * Copies, compares and reports. Resolves with the exit code: 1 when something differs. Safe to repeat after an
 * interruption.
 */
async function migrate(migration: Migration): Promise<number> {
  const { folder, metricsFolder, targets } = migration;
  const open: { close(): Promise<void> }[] = [];
  const opened = <T extends { close(): Promise<void> }>(what: T): T => {
    open.unshift(what);
    return what;
  };
  try {
    const source = opened(lockSource(folder));
    const metricsSource = metricsFolder === folder ? source : opened(lockSource(metricsFolder));
    const { entities, metrics } = targets;
    const profiles = entities === undefined ? undefined : await source.profiles();
    const series = metrics === undefined ? undefined : await metricsSource.series();
    if (profiles !== undefined) checkPepper(profiles, migration);
    const ends = {
      profiles: profiles && { source: profiles, target: opened(await openProfileTarget(migration)) },
      series: series && { source: series, target: opened(await openSeriesTarget(migration)) },
    };
    return await copyAndCompare(ends, migration);
  } catch (error) {
    throw interruption(error);
  } finally {
    for (const each of open) await each.close();
  }
}

/** Describes an error of a server during the copy in one line; returns other errors unchanged. */
function interruption(error: unknown): unknown {
  const isOurs = [StartError, TypeError, RangeError, ReferenceError].some((kind) => error instanceof kind);
  if (isOurs || !(error instanceof Error)) return error;
  return new StartError(`The copy was interrupted: ${error.message}. Run it again: it starts over`, { cause: error });
}

/** Checks that the pepper is unchanged: profiles are found by hashes under it. */
function checkPepper({ pepper }: ProfileSource, { settings, folder }: Migration): void {
  const how = `PEPPER=base64:$(base64 < ${folder}/pepper | tr -d '\\n'), unless the service was given another`;
  if (settings.pepper === null) throw new StartError(`PEPPER is not set. It must be the pepper of the folder: ${how}`);
  if (pepper !== undefined && pepper !== pepperFingerprint(pepperBytes(settings.pepper))) {
    throw new StartError(`PEPPER is not the pepper of the folder, so profiles would not be found: ${how}`);
  }
}

interface Ends {
  readonly profiles: { readonly source: ProfileSource; readonly target: ProfileTarget } | undefined;
  readonly series: { readonly source: SeriesSource; readonly target: SeriesTarget } | undefined;
}

async function copyAndCompare({ profiles, series }: Ends, migration: Migration): Promise<number> {
  const { clock, targets, folder, failpoint } = migration;
  // Opens both before writing, so that a refused target leaves the other unchanged.
  await profiles?.target.begin(profiles.source.mark);
  await series?.target.begin(series.source.mark);
  const comparisons: Comparison[] = [];
  if (series !== undefined) {
    const retentionMs = series.target.retentionMs();
    const since = retentionMs === undefined ? 0 : clock() - retentionMs + RETENTION_MARGIN_MS;
    const older = await copySeries(series.source, series.target, since, () => failpoint("copied-series"));
    if (older > 0) printLine(`${counted(older, "point")} skipped: they are older than the retention of the server.`);
    comparisons.push(...(await compareSeries(series.source, series.target, since)));
  }
  if (profiles !== undefined) {
    await copyProfiles(profiles.source, profiles.target, () => failpoint("copied-records"));
    comparisons.push(...(await compareProfiles(profiles.source, profiles.target)));
  }
  printLine(comparisonTable(comparisons));
  if (!comparisons.every(isEqual)) {
    printLine("Source and target differ: do not use the target. Run the migration again.");
    return 1;
  }
  await profiles?.target.finish();
  await series?.target.finish();
  printLine(farewell(targets, folder));
  return 0;
}

function farewell({ entities, metrics }: Targets, folder: string): string {
  const names = [entities, metrics].flatMap((url) => (url === undefined ? [] : publicName(url)));
  const now = `Everything was copied to ${names.join(" and ")}.`;
  const rest =
    entities === undefined
      ? "Profiles and the ledger stay where they are; metrics.db is not written to any more once the service has the new METRICS_URL."
      : `Nothing is erased from ${folder} any more: people who ask for it from now on stay readable in it, and in copies of it. Start
no service on it again; when the new one runs, remove it: rm -r ${folder} (and keep the pepper: it is the PEPPER of the servers).`;
  return `${now}\n${rest}`;
}

/** Prints lines of the result. */
function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Returns a URL without secrets. */
function publicName(url: string): string {
  const bucket = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]).get("bucket");
  const place = url.replace(/\/\/[^/]*@/, "//").replace(/[?#].*$/, "");
  return bucket === null ? place : `${place} (bucket ${bucket})`;
}
