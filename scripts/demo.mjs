// npm run demo: the service on ./demo-data, filled on every start with six weeks of synthetic segments, experiences and
// streams.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readFlags } from "./flags.mjs";
import { refusingTarget } from "./refusing-target.mjs";
import { runChild } from "./run-child.mjs";
import { dataRoot, root, setUp } from "./set-up.mjs";

const isLarge = readFlags("demo", {
  description: "Serves synthetic data on http://127.0.0.1:8080, kept in ./demo-data. Delete the folder to start again.",
  options: [["--large", "5,000 segments, 500 streams and 300 experiences, kept in ./demo-data-large"]],
}).includes("--large");
setUp();

const { syntheticRequests, syntheticStuck, streamRequests } = await import("../dist/commands/synthetic-data.js");
const { largeSet, smallSet } = await import("../dist/commands/synthetic-sets.js");
const { withProgress } = await import("../dist/commands/progress.js");
const { serviceClient } = await import("../dist/commands/running-service.js");

const HOUR_MS = 3_600_000;
/** Interval of the check whether another hour has begun. */
const CHECK_MS = 10_000;

const set = isLarge ? largeSet() : smallSet;
const weeks = isLarge ? 4 : 6;
const folder = resolve(process.env.DATA_DIR ?? join(dataRoot, isLarge ? "demo-data-large" : "demo-data"));
const keyFile = join(folder, "demo-key");
const key = demoKey();
const target = await refusingTarget(syntheticStuck);
// The synthetic data and its deletions stay in the folder, even if the settings name servers.
const stores = { ENTITIES_URL: "sqlite:", METRICS_URL: "sqlite:", JOBS_URL: "sqlite:", PEPPER: "" };
const code = await runChild([join(root, "dist/main.js")], {
  env: {
    ...stores,
    ROLES: "api,worker",
    DELETIONS_TARGETS: JSON.stringify([target]),
    DATA_DIR: folder,
    ADMIN_KEY: key,
  },
  onMessage: ({ listens, signInCode }) => fill(listens, signInCode),
});
process.exit(code);

/** Returns the key of this folder, which the service gets as ADMIN_KEY. */
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

/** Fills the service up to now, prints example requests, and keeps its streams going. */
async function fill(address, signInCode) {
  process.stderr.write("Filling it with synthetic data\n");
  const client = serviceClient(address, key);
  const requests = syntheticRequests(client, weeks, Date.now(), set);
  try {
    await withProgress("synthetic data", { unit: "request", total: requests.length }, async (progress) => {
      for (const [index, request] of requests.entries()) {
        await request();
        progress.update(index + 1);
      }
    });
  } catch (error) {
    process.stderr.write(`The demo is incomplete: ${error.message}\n`);
    return;
  }
  process.stdout.write(lines(address, signInCode));
  continueStreams(client);
}

/**
 * Writes the streams of each hour soon after it has begun, and of hours during which the machine slept: the demo
 * receives no messages.
 */
function continueStreams(client) {
  const thisHour = () => Math.floor(Date.now() / HOUR_MS);
  let written = thisHour();
  setInterval(async () => {
    if (thisHour() === written) return;
    written = thisHour();
    for (const request of streamRequests(client, 1, Date.now(), set)) await request().catch(() => {});
  }, CHECK_MS);
}

function lines(address, signInCode) {
  const header = `-H "Authorization: $(cat '${keyFile}')"`;
  return `
The demo is ready. This link opens its dashboard, signed in once within 15 minutes of the start:
  ${address}/dashboard#code=${signInCode}
Its key is in ${keyFile}. Ask for example:
  curl '${address}/api/metric?dimension=segment&dimension_id=newsletter&dimension_type=size&range=7d&interval=1d' ${header}
  curl '${address}/api/metric?dimension=experience&dimension_id=welcome-offer&dimension_type=conversionrate&range=2d' ${header}
  curl '${address}/api/me/email/visitor-1%40example.com' ${header}
Every route is described at ${address}/docs, to be tried in a browser.
`;
}
