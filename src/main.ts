import { systemClock } from "./clock.js";
import { compose, type Service } from "./compose.js";
import { readSettings, type Settings, similarNames } from "./config/settings.js";
import { type FirstKey, firstLines, keepInFile, startErrorText } from "./config/start-output.js";
import { failpointFrom } from "./failpoint.js";
import { scopes } from "./keys/api-key.js";
import { mintKey } from "./keys/verify-key.js";
import { openLog } from "./log.js";
import { serviceClock } from "./service-clock.js";

// Files created by this process are accessible only to their owner.
process.umask(0o077);
// Ignore stdout errors (closed pipe, full disk).
process.stdout.on("error", () => {});

let settings: Settings | undefined;
try {
  const retired: string[] = [];
  settings = readSettings(process.env, (name) => retired.push(name));
  await serve(settings, retired);
} catch (error) {
  process.stderr.write(`${startErrorText(error, settings)}\n`);
  process.exit(1);
}

async function serve(settings: Settings, retired: readonly string[]): Promise<void> {
  const log = openLog(settings.log.level);
  for (const name of retired) log.warn({ name }, `the setting ${name} is ignored: there is no such setting any more`);
  for (const { name, nearest } of similarNames(process.env)) {
    log.warn({ name, nearest }, `unknown environment variable ${name}; did you mean ${nearest}?`);
  }
  const stopRequested = untilStop();
  let isServing = false;
  // Before the port is open there are no requests to finish, and the next start repeats unfinished work.
  void stopRequested.then(() => isServing || process.exit(0));
  const service = await compose(settings, serviceClock(systemClock), log, { failpoint: failpointFrom(process.env) });
  const terminal = process.stdout.isTTY === true;
  const inFile = terminal ? undefined : await firstKey(service, settings, (key) => keepInFile(settings.data_dir, key));
  const address = await service.listen();
  isServing = true;
  const first = terminal ? await firstKey(service, settings, (key) => ({ shown: key })) : inFile;
  const signInCode = (key: string) => service.signInCodes.issue(key);
  const lines = first === undefined ? "" : firstLines(address, first, signInCode);
  process.stdout.write(`entity-metrics listens on ${address}\n${lines}`);
  const { admin_key } = settings;
  process.send?.({ listens: address, ...(admin_key === null ? {} : { signInCode: signInCode(admin_key) }) });
  process.on("uncaughtException", (error) => {
    log.error({ err: error }, "an uncaught error ends the process");
    process.exit(1);
  });

  await stopRequested;
  await service.stop();
  process.exit(0);
}

/** Resolves when the process is asked to stop: by a signal, or because the script that started it has ended. */
function untilStop(): Promise<void> {
  return new Promise((resolve) => {
    process.on("SIGINT", () => resolve());
    process.on("SIGTERM", () => resolve());
    process.once("disconnect", () => resolve());
  });
}

/** Creates the very first key, with every scope, and returns it, unless a key or `ADMIN_KEY` exists. */
async function firstKey(
  { stores }: Service,
  settings: Settings,
  handOn: (key: string) => FirstKey,
): Promise<FirstKey | undefined> {
  if (settings.admin_key !== null || (await stores.keys.list()).length > 0) return undefined;
  const { key, stored } = mintKey("first", scopes, systemClock());
  const place = handOn(key);
  await stores.keys.add(stored);
  return place;
}
