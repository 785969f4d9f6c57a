// npm run bench: the built service beside a table with a row a point, and beside Koa alone, in one run on one machine.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root, setUp, version } from "../set-up.mjs";
import { measure, sendFor, writeBlocks } from "./load.mjs";
import { blocks, filledTime } from "./made-up-points.mjs";
import { measureOnServers, serverTable } from "./on-servers.mjs";
import { costWords, startServer } from "./server.mjs";
import { dropStores, missingServers, serverStores } from "./server-stores.mjs";
import { tableOf } from "./table.mjs";
import { getWorkload, readWorkloads } from "./workloads.mjs";

const USAGE = `npm run bench -- [--secs N] [--series N] [--days N]

Writes hourly points (500 series, 60 days) into the built service and its peers, checks answers, and prints what a request costs each of them.
  --secs N     seconds to measure each request (3)
  --series N   series to write (500)
  --days N     days of points in each (60)

Where TEST_MONGODB_URL, TEST_INFLUXDB_URL, TEST_INFLUXDB_TOKEN, TEST_INFLUXDB_ORG and TEST_REDIS_URL name servers, the service on them is measured too,
beside itself embedded, one Flux query for the same points, and the driver of MongoDB alone.
`;

const { seriesCount, days, secs } = readOptions();
setUp();
const key = `em_bench_${randomBytes(20).toString("hex")}`;
const folder = mkdtempSync(join(tmpdir(), "entity-metrics-bench-"));
const running = [];
const stores = [];
let cleaning;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await cleanUp();
    process.exit(1);
  });
}
try {
  await bench();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}
process.exit();

async function bench() {
  const filled = filledTime(days, Date.now());
  const service = await start([join(root, "dist/main.js")], serviceEnvironment("service"));
  const unkept = await start([join(root, "dist/main.js")], {
    ...serviceEnvironment("unkept"),
    CACHE_ANSWERS_BYTES: "0",
  });
  const rows = await start([join(root, "scripts/bench/row-store.mjs"), join(folder, "rows.db")]);
  const limit = await start([join(root, "scripts/bench/koa-limit.mjs")]);

  const written = [];
  for (const server of [service, rows, limit, unkept]) {
    written.push(await writeBlocks(server, blocks(seriesCount, filled), key));
  }
  const [byService, byRows, byLimit] = written;
  say(`${byService.points} points written: ${seriesCount} series, ${days} d of hours`);

  const results = [];
  let checked = 0;
  const add = async (label, workload, measured) => {
    say(label);
    for (const server of [measured, rows]) {
      checked += workload.check((await sendFor(200, server, workload.request, key)).body);
    }
    const costs = await compare(workload, measured, rows, limit);
    results.push({ label, ...costs });
  };
  const reads = readWorkloads(seriesCount, filled);
  for (const workload of reads) await add(workload.label, workload, service);
  for (const workload of reads) await add(`${workload.label}, answers not kept`, workload, unkept);
  const get = getWorkload(filled);
  await add(get.label, get, service);
  results.push({
    label: "blocks, a thousand points",
    bytes: Math.round((byService.bytes / byService.points) * 1000),
    service: byService.cost,
    rows: byRows.cost,
    limit: byLimit.cost,
  });
  process.stdout.write(`${checked} values checked against the formula that made the points\n`);
  process.stdout.write(`Costs are ${costWords}, a request; Node ${process.versions.node}, ${cpus().length} CPUs\n\n`);
  process.stdout.write(`${tableOf(results)}\n\n`);
  process.stdout.write(
    `blocks: ${perSecond(byService)} points/s by the service, ${perSecond(byRows)} by rows in SQL\n`,
  );
  await benchOnServers(service, filled);
}

/** The same service on servers, where there are some. */
async function benchOnServers(embedded, filled) {
  const missing = missingServers();
  if (missing.length > 0) {
    say(`not measured on servers: ${missing.join(", ")} not set`);
    return;
  }
  const own = serverStores();
  stores.push(own);
  const startService = () =>
    start([join(root, "dist/main.js")], { ...serviceEnvironment("servers"), ...own.environment });
  const lines = await measureOnServers({
    startService,
    stores: own,
    embedded,
    key,
    seriesCount,
    filled,
    secs,
    say,
  });
  process.stdout.write(`\n${serverTable(lines)}\n`);
}

/** What a request costs each of the three, one right after the other. The GET goes with the tag of each server's answer. */
async function compare({ request }, service, rows, limit) {
  const conditional = request.method === "GET";
  const costs = [];
  let bytes = 0;
  for (const server of [service, rows]) {
    const { headers, body } = await sendFor(200, server, request, key);
    if (server === service) bytes = conditional ? 0 : body.length;
    const tagged = conditional ? { ...request, headers: { "If-None-Match": headers.etag } } : request;
    costs.push(await measure(server, { request: tagged, status: conditional ? 304 : 200 }, key, secs));
  }
  const sized = conditional
    ? { request: { ...request, headers: { "If-None-Match": '"0"' } }, status: 304 }
    : { request: { ...request, path: `${request.path}?size=${bytes}` } };
  const [ofService, ofRows] = costs;
  return { bytes, service: ofService, rows: ofRows, limit: await measure(limit, sized, key, secs) };
}

function serviceEnvironment(name) {
  return { DATA_DIR: join(folder, name), ADMIN_KEY: key, HOST: "127.0.0.1", PORT: "0" };
}

async function start(args, environment) {
  const server = await startServer(args, environment);
  running.push(server);
  return server;
}

/** Ends what runs, then removes what it wrote; once, whoever asks. */
function cleanUp() {
  cleaning ??= Promise.all(running.map((server) => server.stop()))
    .then(() => Promise.all(stores.map(dropStores)))
    .finally(() => rmSync(folder, { recursive: true, force: true }));
  return cleaning;
}

function perSecond({ cost }) {
  return cost > 0 ? Math.round(1_000_000 / cost).toLocaleString("en") : "-";
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function readOptions() {
  const options = Object.fromEntries(["secs", "series", "days"].map((name) => [name, { type: "string" }]));
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: "boolean" }, version: { type: "boolean" } } });
    if (values.help || values.version) {
      process.stdout.write(values.help ? USAGE : `${version()}\n`);
      process.exit(0);
    }
    const [secs, series, days] = [values.secs ?? "3", values.series ?? "500", values.days ?? "60"].map(Number);
    if (!(secs > 0) || !isCount(series) || !isCount(days)) throw new Error("a number above 0 is expected");
    return { secs, seriesCount: series, days };
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

function isCount(number) {
  return Number.isInteger(number) && number > 0 && number <= 2000;
}
