// npm run bench: measures the built service against its peers, in one run on one machine.
import { cpus } from "node:os";
import { join } from "node:path";
import { root, setUp } from "../set-up.mjs";
import { draw } from "./draw.mjs";
import { measureEntities } from "./entities.mjs";
import { appendRun, earlierRatios } from "./history.mjs";
import { measureOnServers } from "./on-servers.mjs";
import { readOptions } from "./options.mjs";
import { measureOverload } from "./overload.mjs";
import { measureReads } from "./reads.mjs";
import { measureScale } from "./scale.mjs";
import { missingServers } from "./server-stores.mjs";
import { openSession } from "./session.mjs";
import { tableOf } from "./table.mjs";
import { measureWrites } from "./writes.mjs";

const options = readOptions(join(root, "bench-history.jsonl"));
setUp();
const session = openSession(options);
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await session.cleanUp();
    process.exit(1);
  });
}
try {
  await bench();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await session.cleanUp();
}
process.exit();

async function bench() {
  const lines = [];
  let curves = [];
  const parts = {
    reads: () => measureReads(session),
    writes: () => measureWrites(session),
    entities: () => measureEntities(session),
    overload: () => measureOverload(session),
    async scale() {
      const scale = await measureScale(session);
      curves = scale.curves;
      return scale.lines;
    },
    async servers() {
      const missing = missingServers();
      if (missing.length === 0) return measureOnServers(session);
      session.say(`not measured on servers: ${missing.join(", ")} not set`);
      return [];
    },
  };
  for (const part of options.only) {
    for (const one of await parts[part]()) lines.push({ part, ...one });
  }
  process.stdout.write(`${session.checked} values checked against the formula that made the points\n`);
  process.stdout.write(
    `CPU ms: of the server process, a request, message or deletion. Node ${process.versions.node}, ${cpus().length} CPUs\n\n`,
  );
  process.stdout.write(`${tableOf(lines, earlierRatios(options.history, options))}\n`);
  appendRun(options.history, options, lines);
  if (options.draw) for (const path of draw(curves, join(root, "docs/performance"))) session.say(`drawn: ${path}`);
}
