// npm run bench: measures the built service against its peers, in one run on one machine.
import { cpus } from "node:os";
import { setUp } from "../set-up.mjs";
import { measureEntities } from "./entities.mjs";
import { readOptions } from "./options.mjs";
import { measureOverload } from "./overload.mjs";
import { measureReads } from "./reads.mjs";
import { measureRules } from "./rules.mjs";
import { openSession } from "./session.mjs";
import { tableOf } from "./table.mjs";
import { measureWrites } from "./writes.mjs";

const options = readOptions();
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
  const parts = {
    reads: () => measureReads(session),
    writes: () => measureWrites(session),
    entities: () => measureEntities(session),
    rules: () => measureRules(session),
    overload: () => measureOverload(session),
  };
  for (const part of options.only) {
    for (const one of await parts[part]()) lines.push({ part, ...one });
  }
  process.stdout.write(`${session.checked} values checked against the formula that made the points\n`);
  process.stdout.write(
    `CPU ms: of the server process, a request, message or deletion. Node ${process.versions.node}, ${cpus().length} CPUs\n\n`,
  );
  process.stdout.write(`${tableOf(lines)}\n`);
}
