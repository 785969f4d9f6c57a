// Measures overload, ten times as many requests as the service can serve, against the promises.
import { bytesOf, flood } from "./flood.mjs";
import { closeIdle, send, sendAll, sendFor, writeBlocks } from "./load.mjs";
import { quantile } from "./quantile.mjs";
import { costIsCpu } from "./server.mjs";
import { blocks, filledTime, HOUR } from "./synthetic-points.mjs";
import { line } from "./table.mjs";
import { readWorkload, windowWorkload } from "./workloads.mjs";

const TIMES = 10;
/** Connections with which the peak is measured. */
const PEAK_CONNECTIONS = 16;
const HEALTH_EVERY_MS = 50;
/** The promises: bounds of the result. */
const GOODPUT_SHARE = 0.85;
const REFUSAL_MS = 100;
const HEALTH_MS = 50;
const NORMAL_MS = 5_000;
const MEMORY_MB = 512;

/** Returns the lines about overload by reads that miss the cache, because each has a window of its own. */
export async function measureOverload(session) {
  const { key, seriesCount, days, overloadSecs, say } = session;
  const filled = filledTime(days, Date.now());
  // All requests use one key, so its limit is raised out of the way.
  const service = await session.service("overload", { LIMITS_REQUESTS_PER_KEY: "512", CACHE_BYTES: "0" });
  await writeBlocks(service, blocks({ end: seriesCount, ...filled }), key);
  const requests = distinctReads(seriesCount, filled);

  say("overload: the peak");
  const untilEnd = function* (ms) {
    const end = performance.now() + ms;
    for (let n = 0; performance.now() < end || n === 0; n += 1) yield requests[n % requests.length];
  };
  const peakOf = async (secs) => sendAll(service, untilEnd(secs * 1000), key, { count: PEAK_CONNECTIONS });
  await peakOf(overloadSecs / 5);
  const before = await peakOf(overloadSecs / 2);
  const peak = before.count / before.seconds;

  say(`overload: ${Math.round(peak * TIMES)} requests a second`);
  const bytes = requests.map((request) => bytesOf(service, request, key));
  const health = watchHealth(service, key);
  const costBefore = service.cost();
  const load = { perSecond: peak * TIMES, secs: overloadSecs };
  const { offered, unsent, byStatus, seconds } = await flood(service, (n) => bytes[n % bytes.length], load);
  const cost = service.cost() - costBefore;
  const memory = service.memory().most;
  const healthMs = await health.stop();
  const served = byStatus.get(200)?.times.length ?? 0;
  const refused = [503, 429].flatMap((status) => byStatus.get(status) ?? []);
  const refusals = refused.flatMap(({ times }) => times);
  const withoutWord = refusals.length - refused.reduce((sum, { retryAfter }) => sum + retryAfter, 0);
  const strange = [...byStatus.keys()].filter((status) => ![200, 503, 429].includes(status));
  if (withoutWord > 0 || strange.length > 0) {
    throw new Error(`under overload ${withoutWord} refusals had no Retry-After; other statuses: ${strange.join(", ")}`);
  }
  say(`overload: ${offered} due, ${unsent} not sent, ${served} served, ${refusals.length} refused`);
  closeIdle();
  const normalMs = await timeUntilServed(service, requests[0], key);
  await session.stop(service);

  const what = `${TIMES} times the peak for ${overloadSecs} s`;
  const promised = (name, unit, figure, limit, options) =>
    line(`${name}, ${what}`, unit, figure, "promised", limit, options);
  return [
    promised("goodput", "of the peak", served / seconds / peak, GOODPUT_SHARE, { more: true }),
    ...(costIsCpu
      ? [
          promised("goodput by CPU", "of the peak", served / cost / (before.count / before.cost), GOODPUT_SHARE, {
            more: true,
          }),
        ]
      : []),
    ...(refusals.length > 0 ? [promised("refusal p99", "ms", quantile(refusals, 0.99), REFUSAL_MS)] : []),
    promised("served again after", "ms", normalMs, NORMAL_MS),
    promised("/health p99", "ms", quantile(healthMs, 0.99), HEALTH_MS),
    ...(costIsCpu ? [promised("memory", "MB", memory, MEMORY_MB)] : []),
  ];
}

/** Resolves with the ms from the end of the load until a request is served; a minute at most. */
async function timeUntilServed(service, request, key) {
  const begun = performance.now();
  for (;;) {
    const { status } = await send(service, request, key);
    const ms = performance.now() - begun;
    if (status === 200) return ms;
    if (ms > 60_000) throw new Error(`a minute after the load a request is answered ${status}`);
    await new Promise((resolve) => setTimeout(resolve, HEALTH_EVERY_MS));
  }
}

/** Returns W2 over windows that begin at every hour of a month. */
function distinctReads(seriesCount, filled) {
  const { window, series } = readWorkload("W2", seriesCount, filled);
  const length = Math.min(window.to - window.from, (filled.to - filled.from) / 2);
  const places = Math.max(1, (filled.to - filled.from - length) / HOUR);
  return Array.from({ length: places }, (_, i) => {
    const from = filled.from + i * HOUR;
    return windowWorkload({ ...window, from, to: from + length }, { series }).request;
  });
}

/** Requests `/health` repeatedly; `stop` resolves with the ms of each response. */
function watchHealth(service, key) {
  const times = [];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const begun = performance.now();
      await sendFor(200, service, { method: "GET", path: "/health" }, key);
      times.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, HEALTH_EVERY_MS));
    }
  })();
  watching.catch(() => {});
  return {
    async stop() {
      isOver = true;
      await watching;
      return times;
    },
  };
}
