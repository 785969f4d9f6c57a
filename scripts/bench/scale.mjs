// Measures the cost of requests as the number of series, days of points or profiles grows.
import { addPeople, readLine } from "./entities.mjs";
import { closeIdle, measure, sendAll, sendFor, writeBlocks } from "./load.mjs";
import { costUnit } from "./server.mjs";
import { blocks, DAY, filledTime } from "./synthetic-points.mjs";
import { line } from "./table.mjs";
import { w1Batches, w1Dashboards } from "./workloads.mjs";

const TIMES = 10;
/** Batches of W1, requested in turn. */
const BATCHES = 25;
/** Days of points when there are many series: W1 reads 7. */
const FEW_DAYS = 14;
/** Length of the warm-up relative to the measurement: a process compiles its code in its first seconds. */
const WARM_UP = 4;
/** Numbers of dashboards, visited in turn, and the series for which they are meant: fewer series have fewer. */
const DASHBOARDS = [500, 1_000, 5_000];
const MANY_SERIES = 2_000;
/** Sizes of the cache of responses, MiB; the first is the default. */
const CACHE_MIB = [64, 256];
/** Series when there are many days. */
const FEW_SERIES = 100;

/**
 * Returns the lines about sizes, and the curves: `{ lines, curves }`. A curve is `{ name, unit, points: [{ size, cost
 * }] }`.
 */
export async function measureScale(session) {
  const series = await bySeries(session);
  const days = await byDays(session);
  const dashboards = await byDashboards(session);
  const people = await byPeople(session);
  return {
    lines: [...series.lines, ...days.lines, ...dashboards, ...people.lines],
    curves: [series.curve, days.curve, people.curve],
  };
}

async function bySeries(session) {
  const { seriesCount, key, days } = session;
  const filled = filledTime(Math.min(days, FEW_DAYS), Date.now());
  const steps = [seriesCount, Math.round(seriesCount * Math.sqrt(TIMES)), seriesCount * TIMES];
  const points = [];
  let written = 0;
  let service = await session.service("series");
  for (const count of steps) {
    await writeBlocks(service, blocks({ first: written, end: count, ...filled }), key);
    written = count;
    points.push({ size: count, cost: await w1Cost(session, service, count, filled) });
  }
  service = await afresh(session, service, "series");
  await w1Cost(session, service, written, filled);
  const memory = service.memory().most;
  await session.stop(service);
  const [first, last] = [points[0], points.at(-1)];
  const label = (what) => `${what}, ${last.size.toLocaleString("en")} series`;
  return {
    lines: [
      line(label("W1"), costUnit, last.cost, `${first.size.toLocaleString("en")} series`, first.cost),
      line(label("start"), "ms", service.startMs, "promised", 3_000),
      line(label("memory after reads"), "MB", memory, "promised", 512),
    ],
    curve: { name: "series", what: "W1", unit: costUnit, points },
  };
}

async function byDays(session) {
  const { seriesCount, key, days } = session;
  const count = Math.min(seriesCount, FEW_SERIES);
  const steps = [days, 2 * days, 6 * days];
  const points = [];
  const service = await session.service("days");
  let before = 0;
  for (const length of steps) {
    const filled = filledTime(length, Date.now());
    const newer = filledTime(before, Date.now());
    await writeBlocks(service, blocks({ end: count, from: filled.from, to: newer.from }), key);
    before = length;
    points.push({ size: length, cost: await w1Cost(session, service, count, filled) });
  }
  await session.stop(service);
  const [first, last] = [points[0], points.at(-1)];
  return {
    lines: [line(`W1, ${last.size} days`, costUnit, last.cost, `${first.size} days`, first.cost)],
    curve: { name: "days", what: "W1", unit: costUnit, points },
  };
}

async function byDashboards(session) {
  const { seriesCount, key, days, say } = session;
  const filled = filledTime(Math.min(days, FEW_DAYS), Date.now());
  let service = await session.service("dashboards");
  await writeBlocks(service, blocks({ end: seriesCount, ...filled }), key);
  const counts = DASHBOARDS.map((count) => Math.ceil(count * Math.min(1, seriesCount / MANY_SERIES)));
  const requests = counts.at(-1);
  const costs = [];
  for (const mebibytes of CACHE_MIB) {
    service = await afresh(session, service, "dashboards", { CACHE_RESPONSES_BYTES: String(mebibytes * 1024 * 1024) });
    for (const count of counts) {
      say(`scale: W1, ${count} dashboards, ${mebibytes} MiB`);
      const dashboards = w1Dashboards(count, seriesCount, filled);
      session.checked += dashboards[0].check((await sendFor(200, service, dashboards[0].request, key)).body);
      const turns = Array.from({ length: requests }, (_, i) => dashboards[i % count].request);
      await sendAll(service, turns, key);
      costs.push((await sendAll(service, turns, key)).cost / requests);
    }
  }
  await session.stop(service);
  const label = (i) => `W1, ${counts[i].toLocaleString("en")} dashboards`;
  const sizes = [...counts.keys()];
  return [
    ...sizes.slice(1).map((i) => line(label(i), costUnit, costs[i], `${counts[0]} dashboards`, costs[0])),
    ...sizes.map((i) => line(label(i), costUnit, costs[i], `${CACHE_MIB[1]} MiB`, costs[i + counts.length])),
  ];
}

async function byPeople(session) {
  const { people } = session;
  const steps = [...new Set([100, 10, 1].map((part) => Math.ceil(people / part)))];
  const koa = await session.koa();
  const points = [];
  let service = await session.service("people");
  let before = 0;
  for (const count of steps) {
    session.say(`scale: ${count} profiles`);
    await addPeople(session, service, before, count);
    before = count;
    await readLine({ ...session, secs: WARM_UP * session.secs }, service, koa, count);
    points.push({ size: count, cost: (await readLine(session, service, koa, count)).service });
  }
  service = await afresh(session, service, "people");
  const { startMs } = service;
  await session.stop(service, koa);
  const [first, last] = [points[0], points.at(-1)];
  const label = (what) => `${what}, ${last.size.toLocaleString("en")} profiles`;
  return {
    lines: [
      line(label("read by identity"), costUnit, last.cost, `${first.size.toLocaleString("en")} profiles`, first.cost),
      line(label("start"), "ms", startMs, "promised", 3_000),
    ],
    curve: { name: "profiles", what: "read by identity", unit: costUnit, points },
  };
}

/** Starts the service on the same data in a new process. */
async function afresh(session, service, name, environment) {
  await session.stop(service);
  closeIdle();
  return session.service(name, environment);
}

/** Measures W1 over batches spread over all series, each requested once before. */
async function w1Cost(session, service, count, filled) {
  const { key, secs, say } = session;
  say(`scale: W1, ${count} series, ${(filled.to - filled.from) / DAY} days`);
  const batches = w1Batches(BATCHES, count, filled);
  for (const { request, check } of batches) {
    session.checked += check((await sendFor(200, service, request, key)).body);
  }
  const requests = batches.map(({ request }) => request);
  await measure(service, { requests }, key, WARM_UP * secs);
  return measure(service, { requests }, key, secs);
}
