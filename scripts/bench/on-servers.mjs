// The built service on servers: beside itself embedded, and beside the servers alone, in the same run.
import { fluxQuery } from "./direct.mjs";
import { measure, sendFor, writeBlocks } from "./load.mjs";
import { blocks, DAY, filledTime, nameOf } from "./made-up-points.mjs";
import { measureProfiles } from "./profiles-on-servers.mjs";
import { costUnit } from "./server.mjs";
import { serverStores } from "./server-stores.mjs";
import { line } from "./table.mjs";
import { readWorkload } from "./workloads.mjs";

const MOST_BATCHES = 30;
/** How far back the windows lie that are read one after the other. Only the last is measured: what is compiled at first is compiled before. */
const BACK = [28 * DAY, 21 * DAY, 14 * DAY, 0];
/** In so many rounds each is measured in turns with the other. */
const ROUNDS = 3;

/** Lines that say what the service costs on servers. */
export async function measureOnServers(session) {
  const { key, seriesCount, days, secs, say } = session;
  const lines = [];
  const stores = serverStores();
  session.use(stores);
  const filled = filledTime(days, Date.now());
  const startService = () => session.service("servers", stores.environment);
  const service = await startService();
  const embedded = await session.service("embedded");
  say("on servers: points");
  for (const server of [service, embedded]) {
    await writeBlocks(server, blocks({ end: seriesCount, ...filled }), key);
  }

  for (const workload of ["W1", "W2"].map((name) => readWorkload(name, seriesCount, filled))) {
    say(`on servers: ${workload.label}`);
    workload.check((await sendFor(200, service, workload.request, key)).body);
    await sendFor(200, embedded, workload.request, key);
    // A service that has just started is compiled first.
    await measure(service, workload, key, 2 * secs);
    const costs = { onServers: [], alone: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      costs.onServers.push(await measure(service, workload, key, secs / 2));
      costs.alone.push(await measure(embedded, workload, key, secs / 2));
    }
    lines.push(
      line(`${workload.label}, in memory`, costUnit, median(costs.onServers), "embedded", median(costs.alone)),
    );
  }
  await session.stop(embedded);

  lines.push(...(await measureProfiles({ service, stores, key, people: seriesCount * 10, say })));
  await session.stop(service);

  const cold = await startService();
  say("on servers: nothing in memory");
  const { ofService, direct, label } = await coldReads(cold, { stores, key, seriesCount, filled });
  lines.push(line(`${label}, nothing in memory`, "wall ms", ofService, "one Flux query", direct));
  await session.stop(cold);
  return lines;
}

/**
 * W1 over one batch of series after the other, each asked of the service once and of InfluxDB once, in turns; the medians.
 * Both have answered as much before, about other weeks (empty ones where the points do not reach back so far).
 */
async function coldReads(service, { stores, key, seriesCount, filled }) {
  const size = readWorkload("W1", seriesCount, filled).series;
  const batches = Math.min(MOST_BATCHES, Math.floor(seriesCount / size));
  let times = { service: [], direct: [] };
  let label = "";
  for (const back of BACK) {
    const time = { from: filled.from - back, to: filled.to - back };
    times = { service: [], direct: [] };
    for (let batch = 0; batch < batches; batch += 1) {
      const workload = readWorkload("W1", seriesCount, time, batch * size);
      label = workload.label;
      const ids = Array.from({ length: size }, (_, i) => nameOf(batch * size + i).dimension_id);
      const ask = {
        service: () => sendFor(200, service, workload.request, key),
        direct: () => fluxQuery(stores.influx, ids, workload.window),
      };
      for (const one of batch % 2 === 0 ? ["service", "direct"] : ["direct", "service"]) {
        const start = performance.now();
        const answer = await ask[one]();
        times[one].push(performance.now() - start);
        if (one === "service" && back === 0) workload.check(answer.body);
      }
    }
  }
  return { ofService: median(times.service), direct: median(times.direct), label };
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
