// Measures reads of series against a table with one row per point, aggregated in SQL, and against Koa alone.
import { closeIdle, measure, sendAll, sendFor, writeBlocks } from "./load.mjs";
import { costUnit } from "./server.mjs";
import { blocks, DAY, filledTime, HOUR, nameOf } from "./synthetic-points.mjs";
import { line } from "./table.mjs";
import { getWorkload, movingWorkload, READS, readWorkload, w1Batches } from "./workloads.mjs";

const MANY = 32;
const HOT_BATCHES = 50;
const HERD = 1_000;
/**
 * Ages of the windows that a server serves before the measured one, so that its code is compiled but its cache has no
 * part of that window.
 */
const BACK = [42 * DAY, 28 * DAY, 14 * DAY];
/** Points per second that arrive while W5 is measured, and the number of their requests. */
const COMING_POINTS = 2_000;
const COMING_REQUESTS = 4;

/** Returns the lines about reads. */
export async function measureReads(session) {
  const { key, seriesCount, days, secs, say } = session;
  const filled = filledTime(days, Date.now());
  let service = await session.service("reads");
  const uncached = await session.service("uncached", { CACHE_BYTES: "0" });
  let rows = await session.rows("reads");
  const koa = await session.koa();
  for (const server of [service, uncached, rows]) {
    await writeBlocks(server, blocks({ end: seriesCount, ...filled }), key);
  }
  const lines = [];
  const check = async (workload, ...servers) => {
    for (const server of servers) {
      session.checked += workload.check((await sendFor(200, server, workload.request, key)).body);
    }
  };
  const compare = async (label, workloads, server, { count, tagged = false } = {}) => {
    say(label);
    for (const workload of workloads) await check(workload, server, rows);
    const requests = workloads.map(({ request }) => request);
    const { headers, body } = await sendFor(200, server, requests[0], key);
    const costOf = async (one, asked, etag) => {
      const load = tagged
        ? { requests: asked.map((request) => ({ ...request, headers: { "If-None-Match": etag } })), status: 304 }
        : { requests: asked };
      return measure(one, load, key, secs, count);
    };
    const cost = await costOf(server, requests, headers.etag);
    const rowsTag = tagged ? (await sendFor(200, rows, requests[0], key)).headers.etag : undefined;
    const sized = requests.map((request) => ({
      ...request,
      path: `${request.path.split("?")[0]}?size=${body.length}`,
    }));
    lines.push(
      line(label, costUnit, cost, "rows in SQLite", await costOf(rows, requests, rowsTag)),
      line(label, costUnit, cost, "Koa alone", await costOf(koa, sized, '"0"')),
    );
    return cost;
  };

  const reads = READS.map((name) => readWorkload(name, seriesCount, filled));
  const [w1, herd] = reads;
  let w1Cost;
  for (const workload of reads) {
    const cost = await compare(workload.label, [workload], service);
    w1Cost ??= cost;
  }
  for (const workload of reads) await compare(`${workload.label}, nothing cached`, [workload], uncached);
  await compare(
    `W4: W1, ${HOT_BATCHES} batches, ${MANY} connections`,
    w1Batches(HOT_BATCHES, seriesCount, filled),
    service,
    {
      count: MANY,
    },
  );
  await compare(getWorkload(filled).label, [getWorkload(filled)], service, { tagged: true });

  say("a herd");
  const afresh = async () => {
    await session.stop(service);
    closeIdle();
    service = await session.service("reads");
  };
  await session.stop(uncached);
  await afresh();
  const costOfPolls = async ({ request }) => {
    const { count, cost } = await sendAll(service, Array(HERD).fill(request), key, { count: MANY });
    return cost / count;
  };
  // Warm-up on other series: code that has just been loaded is compiled first.
  await costOfPolls(readWorkload("W2", seriesCount, filled, Math.max(0, seriesCount - herd.series)));
  const first = await costOfPolls(herd);
  lines.push(
    line(`W2, ${HERD} identical, nothing in memory`, costUnit, first, "the same again", await costOfPolls(herd)),
  );

  say("nothing in memory");
  await afresh();
  await session.stop(rows);
  rows = await session.rows("reads");
  const cold = [await coldCost(session, service, filled), await coldCost(session, rows, filled)];
  lines.push(line("W1, nothing in memory", costUnit, cold[0], "rows in SQLite", cold[1]));

  const moving = movingWorkload(seriesCount, filled);
  say(moving.label);
  await check(moving, service, rows);
  const costs = [];
  for (const server of [service, rows]) {
    const stop = comingPoints(server, seriesCount, key);
    costs.push(await measure(server, moving, key, secs).finally(stop));
  }
  lines.push(
    line(moving.label, costUnit, costs[0], "rows in SQLite", costs[1]),
    line(moving.label, costUnit, costs[0], w1.label, w1Cost),
  );
  await session.stop(service, rows, koa);
  return lines;
}

/** Measures W1 on a server that has just started and has none of its series in the cache. */
async function coldCost({ key, seriesCount }, server, filled) {
  const size = readWorkload("W1", seriesCount, filled).series;
  const batches = (back) =>
    Array.from({ length: Math.max(1, Math.floor(seriesCount / size)) }, (_, i) => {
      const time = { from: filled.from - back, to: filled.to - back };
      return readWorkload("W1", seriesCount, time, i * size).request;
    });
  for (const back of BACK) await sendAll(server, batches(back), key);
  const { count, cost } = await sendAll(server, batches(0), key);
  return cost / count;
}

/** Writes points into the current slot until the returned function is called. */
function comingPoints(server, seriesCount, key) {
  const series = Array.from({ length: Math.min(seriesCount, COMING_POINTS / COMING_REQUESTS) }, (_, i) => nameOf(i));
  const copies = Math.ceil(COMING_POINTS / COMING_REQUESTS / series.length);
  let isOver = false;
  let value = 0;
  const writing = (async () => {
    while (!isOver) {
      const next = new Promise((resolve) => setTimeout(resolve, 1000 / COMING_REQUESTS));
      for (let copy = 0; copy < copies; copy += 1) {
        value += 1;
        const body = JSON.stringify({
          series,
          ts: [Math.floor(Date.now() / HOUR) * HOUR],
          values: series.map(() => [value]),
        });
        await sendFor(200, server, { method: "POST", path: "/api/metric/points", body }, key);
      }
      await next;
    }
  })();
  // `stop` reports this error.
  writing.catch(() => {});
  return async () => {
    isOver = true;
    await writing;
  };
}
