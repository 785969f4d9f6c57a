// Measures reads and writes of series in InfluxDB against the embedded engine and against the official client alone.
import { fluxClient } from "./direct.mjs";
import { sendAll, sendFor, settledCost, writeBlocks } from "./load.mjs";
import { quantile } from "./quantile.mjs";
import { costIsCpu, costUnit } from "./server.mjs";
import { arrivals, blocks, DAY, filledTime, HOUR, nameOf } from "./synthetic-points.mjs";
import { line } from "./table.mjs";
import { readWorkload, windowWorkload } from "./workloads.mjs";
import { blockOf } from "./writes.mjs";

/** Requests for cached series in one round, for each second of measurement. */
const POLLS = 2_000;
const MOST_BATCHES = 30;
/** Ages of the windows that are read one after another. Only the last is measured; the others are the warm-up. */
const BACK = [42 * DAY, 35 * DAY, 28 * DAY, 21 * DAY, 14 * DAY, 0];
/** Number of rounds in which each alternative is measured in turn. */
const ROUNDS = 5;
/** Points per request in order of arrival, concurrent requests, and points per round. */
const POINTS = 5_000;
const WRITERS = 8;
const MOST_STEADY = 200_000;

/** Fills both services, and compares reads from the cache. */
export async function measureInMemory({ service, embedded, filled, session }) {
  const { key, seriesCount, secs, say } = session;
  say("on servers: points");
  for (const server of [service, embedded]) {
    await writeBlocks(server, blocks({ end: seriesCount, ...filled }), key);
  }
  const lines = [];
  for (const workload of ["W1", "W2"].map((name) => readWorkload(name, seriesCount, filled))) {
    say(`on servers: ${workload.label}`);
    const requests = Array(Math.ceil(POLLS * secs)).fill(workload.request);
    const costOf = async (server) => (await sendAll(server, requests, key)).cost / requests.length;
    for (const server of [service, embedded]) {
      workload.check((await sendFor(200, server, workload.request, key)).body);
      // Warm-up: code that has just been loaded is compiled first.
      await costOf(server);
    }
    const costs = await inTurns({ service: () => costOf(service), embedded: () => costOf(embedded) });
    lines.push(line(`${workload.label}, in memory`, costUnit, low(costs.service), "embedded", low(costs.embedded)));
  }
  return lines;
}

/**
 * Measures W1 over one batch of series after another, each requested once from the service and once from InfluxDB, in
 * turns. Both have served as many requests before, for other weeks (empty ones if the points are more recent). CPU is
 * that of each process.
 */
export async function measureNothingInMemory({ service, stores, filled, session }) {
  const { key, seriesCount, say } = session;
  say("on servers: nothing in memory");
  const client = await fluxClient(stores.influx);
  const size = readWorkload("W1", seriesCount, filled).series;
  const batches = Math.min(MOST_BATCHES, Math.floor(seriesCount / size));
  let taken;
  let label = "";
  for (const back of BACK) {
    const time = { from: filled.from - back, to: filled.to - back };
    taken = { service: [], direct: [], serviceCpu: 0, directCpu: 0 };
    for (let batch = 0; batch < batches; batch += 1) {
      const workload = readWorkload("W1", seriesCount, time, batch * size);
      label = workload.label;
      const ids = Array.from({ length: size }, (_, i) => nameOf(batch * size + i).dimension_id);
      const ask = {
        service: () => sendFor(200, service, workload.request, key),
        direct: () => client.rows(ids, workload.window),
      };
      for (const one of batch % 2 === 0 ? ["service", "direct"] : ["direct", "service"]) {
        const cost = one === "service" ? service.cost : ownCost;
        const [start, before] = [performance.now(), cost()];
        const answer = await ask[one]();
        taken[one].push(performance.now() - start);
        taken[`${one}Cpu`] += cost() - before;
        if (one === "service" && back === 0) workload.check(answer.body);
      }
    }
  }
  const what = `${label}, nothing in memory`;
  const cpu = [taken.serviceCpu / batches, taken.directCpu / batches];
  return [
    line(what, "wall ms", median(taken.service), "one Flux query", median(taken.direct)),
    ...(costIsCpu ? [line(what, costUnit, cpu[0], "one Flux query", cpu[1])] : []),
  ];
}

/**
 * Measures blocks of points in order of arrival from several writers, in points per second, against as many batches of
 * the official client.
 */
export async function measureSteady({ service, stores, session }) {
  const { key, seriesCount, days, say } = session;
  say("on servers: points in arrival order");
  const client = await fluxClient(stores.influx);
  const { to } = filledTime(days, Date.now());
  const hours = Math.min(days * 24, Math.ceil(MOST_STEADY / seriesCount));
  const batches = [...arrivals({ end: seriesCount, from: to - hours * HOUR, to, size: POINTS })];
  const count = batches.reduce((sum, { length }) => sum + length, 0);
  const requests = batches.map((batch) => ({
    method: "POST",
    path: "/api/metric/points",
    body: blockOf(batch, "steady"),
  }));
  const texts = batches.map((batch) =>
    batch.map(
      ({ series, ts, value }) => `stream,dimension_id=direct-${series},dimension_type=size value=${value} ${ts}`,
    ),
  );
  const rates = await inTurns({
    service: async () => count / (await sendAll(service, requests, key, { count: WRITERS })).seconds,
    direct: async () => count / (await client.write(texts, WRITERS)),
  });
  await settledCost(service);
  const written = windowWorkload(
    { from: to - hours * HOUR, to, hours: 1, aggregation: "sum" },
    { series: Math.min(seriesCount, 5), prefix: "steady" },
  );
  written.check((await sendFor(200, service, written.request, key)).body);
  const what = `steady, blocks, ${WRITERS} writers`;
  return line(what, "points/s", high(rates.service), "the client's batches", high(rates.direct), { more: true });
}

/** Runs each alternative several times, in turns, after one warm-up each; resolves with their results by name. */
async function inTurns(works) {
  const results = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, work] of Object.entries(works)) {
      const result = await work();
      if (round > 0) results[name].push(result);
    }
  }
  return results;
}

/** Returns the CPU ms of this process so far. */
function ownCost() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The lower quartile: other work on the machine makes rounds more expensive, never cheaper. */
const low = (costs) => quantile(costs, 0.25);
/** The upper quartile, for the same reason. */
const high = (rates) => quantile(rates, 0.75);
const median = (times) => quantile(times, 0.5);
