// The built service on servers: beside itself embedded, and beside the servers alone, in the same run.
import { fluxQuery } from "./direct.mjs";
import { measure, sendFor, writeBlocks } from "./load.mjs";
import { blocks, nameOf } from "./made-up-points.mjs";
import { measureProfiles } from "./profiles-on-servers.mjs";
import { costWords } from "./server.mjs";
import { readWorkloads, w1Of } from "./workloads.mjs";

const MOST_BATCHES = 30;
const DAY = 86_400_000;
/** How far back the windows lie that are read one after the other. Only the last is measured: what is compiled at first is compiled before. */
const BACK = [28 * DAY, 21 * DAY, 14 * DAY, 0];
/** In so many rounds each is measured in turns with the other. */
const ROUNDS = 3;

/** Lines that say what the service costs on `stores`. `startService` starts one there; `embedded` holds the same points. */
export async function measureOnServers({ startService, stores, embedded, key, seriesCount, filled, secs, say }) {
  const lines = [];
  const service = await startService();
  say("on servers: points");
  await writeBlocks(service, blocks(seriesCount, filled), key);

  for (const workload of readWorkloads(seriesCount, filled).slice(0, 2)) {
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
    const [onServers, alone] = [median(costs.onServers), median(costs.alone)];
    lines.push([`${workload.label}, in memory`, costWords, onServers, "embedded", alone, onServers / alone]);
  }

  lines.push(...(await measureProfiles({ service, stores, key, people: seriesCount * 10, say })));
  await service.stop();

  const cold = await startService();
  say("on servers: nothing in memory");
  const { ofService, direct, label } = await coldReads(cold, { stores, key, seriesCount, filled });
  lines.push([`${label}, nothing in memory`, "wall ms", ofService, "one Flux query", direct, ofService / direct]);
  await cold.stop();
  return lines;
}

/**
 * W1 over one batch of series after the other, each asked of the service once and of InfluxDB once, in turns; the medians.
 * Both have answered as much before, about other weeks (empty ones where the points do not reach back so far).
 */
async function coldReads(service, { stores, key, seriesCount, filled }) {
  const size = w1Of(0, seriesCount, filled).series;
  const batches = Math.min(MOST_BATCHES, Math.floor(seriesCount / size));
  let times = { service: [], direct: [] };
  let label = "";
  for (const back of BACK) {
    const time = { from: filled.from - back, to: filled.to - back };
    times = { service: [], direct: [] };
    for (let batch = 0; batch < batches; batch += 1) {
      const workload = w1Of(batch * size, seriesCount, time);
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

/** A table of the lines. */
export function serverTable(lines) {
  const head = ["on servers", "unit", "service", "beside", "", "ratio"];
  const cells = lines.map(([label, unit, service, beside, other, ratio]) => [
    label,
    unit,
    service.toPrecision(3),
    beside,
    other.toPrecision(3),
    Number.isFinite(ratio) ? `${ratio.toPrecision(3)}x` : "-",
  ]);
  const table = [head, head.map(() => "---"), ...cells];
  return table.map((line) => `| ${line.join(" | ")} |`).join("\n");
}
