// npm run demo: starts the service on ./demo-data and fills it with six weeks of made-up segments, experiences and
// streams.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { refusingTarget } from "./refusing-target.mjs";
import { runChild } from "./run-child.mjs";
import { callOf, dataRoot, root, setUp, usageOf } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

const args = process.argv.slice(2);
answerHelp(args, {
  call: usageOf("demo"),
  description: "Serves made-up data on http://127.0.0.1:8080, kept in ./demo-data. Delete the folder to start again.",
  options: [["--large", "5,000 segments, 500 streams and 300 experiences, kept in ./demo-data-large"]],
});
const size = args.filter((argument) => argument === "--large");
if (size.length < args.length) {
  process.stderr.write(
    `${callOf("demo")} takes no argument but --help, --version and --large; settings are variables: docs/settings.md\n`,
  );
  process.exit(2);
}
setUp();

const HOUR_MS = 3_600_000;
/** Interval at which the demo checks for a new hour, ms. */
const LOOK_MS = 10_000;

const folder = resolve(process.env.DATA_DIR ?? join(dataRoot, size.length === 0 ? "demo-data" : "demo-data-large"));
const keyFile = join(folder, "demo-key");
const key = demoKey();
let seeding;
const { madeUpStuck } = await import("../dist/commands/made-up-data.js");
const target = await refusingTarget(madeUpStuck);
// Overrides the stores of the environment: made-up data stays in the folder.
const stores = { ENTITIES_URL: "sqlite:", METRICS_URL: "sqlite:", JOBS_URL: "sqlite:", PEPPER: "" };
const code = await runChild([join(root, "dist/main.js")], {
  env: {
    ...stores,
    ROLES: "api,worker",
    DELETIONS_TARGETS: JSON.stringify([target]),
    DATA_DIR: folder,
    ADMIN_KEY: key,
  },
  onMessage: fill,
});
seeding?.kill();
process.exit(code);

/** Returns a key for this folder, which the service gets as ADMIN_KEY. */
function demoKey() {
  if (existsSync(keyFile)) return readFileSync(keyFile, "utf8").trim();
  if (existsSync(join(folder, "ledger.db"))) {
    process.stderr.write(`${folder} is the folder of a service that is no demo: set DATA_DIR to another, or to none\n`);
    process.exit(1);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fresh = `em_demo_${randomBytes(20).toString("hex")}`;
  writeFileSync(keyFile, `${fresh}\n`, { mode: 0o600 });
  return fresh;
}

/** Fills the service up to now, and prints addresses to try. */
function fill({ listens }) {
  if (listens === undefined) return;
  process.stderr.write("Filling it with made-up data\n");
  seed(["--url", listens, ...size], "inherit").once("exit", (status) => {
    if (status !== 0) return;
    process.stdout.write(lines(listens));
    continueStreams(listens);
  });
}

function seed(args, stdio) {
  seeding = spawn(process.execPath, [join(root, "dist/commands/seed.js"), ...args], {
    stdio,
    env: { ...process.env, ENTITY_METRICS_KEY: key },
  });
  return seeding;
}

/** Writes the streams of each new hour, and of hours during which the machine slept: the demo receives no messages. */
function continueStreams(listens) {
  const thisHour = () => Math.floor(Date.now() / HOUR_MS);
  let written = thisHour();
  setInterval(() => {
    if (thisHour() === written) return;
    written = thisHour();
    seed(["--url", listens, "--weeks", "1", "--streams", ...size], "ignore");
  }, LOOK_MS);
}

function lines(address) {
  const header = `-H "Authorization: $(cat '${keyFile}')"`;
  return `
The demo is ready. Its key is in ${keyFile}. Open ${address}/dashboard in a browser, or ask for example:
  curl '${address}/api/metric?dimension=segment&dimension_id=newsletter&dimension_type=size&range=7d&interval=1d' ${header}
  curl '${address}/api/metric?dimension=experience&dimension_id=welcome-offer&dimension_type=conversionrate&range=2d' ${header}
  curl '${address}/api/me/email/visitor-1%40example.com' ${header}
Every route is described at ${address}/docs, to be tried in a browser.
`;
}
