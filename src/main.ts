import { systemClock } from "./clock.js";
import { compose } from "./compose.js";
import { readSettings } from "./config.js";
import { openLog } from "./log.js";

const settings = readSettings(process.env);
const log = openLog(settings.log.level);
const service = await compose(settings, systemClock, log);
const address = await service.listen();
process.stdout.write(`entity-metrics listens on ${address}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void service.stop().then(() => process.exit(0)));
