// Measures how long reads and messages take while the walk of changed rules runs, next to the same without the walk.
import { setTimeout as sleep } from "node:timers/promises";
import { bytesOf, flood } from "./flood.mjs";
import { sendAll, writeBlocks } from "./load.mjs";
import { quantile } from "./quantile.mjs";
import { messages, personOf, putRule, untilComputed } from "./rules.mjs";
import { blocks, filledTime } from "./synthetic-points.mjs";
import { line } from "./table.mjs";
import { w1Batches } from "./workloads.mjs";

const RULES = 20;
/** Maximum turns. */
const TURNS = 10;
/** The walk of 10,000 profiles takes longer. */
const CHANGE_EVERY_MS = 1_000;
/** Requests per second, at which the service has time for the walk. */
const READS = 200;
const MESSAGES = 50;
const BATCHES = 50;
/** Minimum seconds of a turn, in which some requests are answered on any machine. */
const MIN_SECS = 1;

/** Returns the lines about reads and messages during the walk. */
export async function measureDuringWalk(session) {
  const { key, people, seriesCount, days, secs, say } = session;
  const filled = filledTime(days, Date.now());
  // All requests use one key, so its limit is raised out of the way.
  const service = await session.service("rules: during the walk", { LIMITS_REQUESTS_PER_KEY: "512" });
  await writeBlocks(service, blocks({ end: seriesCount, ...filled }), key);
  const rule = (n, version) => putRule(service, n, { attribute: "group", is: n }, key, version);
  for (let n = 0; n < RULES; n += 1) await rule(n, 0);
  await sendAll(
    service,
    messages(people, (n) => personOf("person", n)),
    key,
  );

  const reads = w1Batches(BATCHES, seriesCount, filled).map(({ request }) => bytesOf(service, request, key));
  const messageOf = (n) => ({
    method: "POST",
    path: "/collect/json/bench",
    body: JSON.stringify({ _uid: `person-${(n * 7919) % people}`, visits: n % 50 }),
  });
  const turns = Math.ceil(Math.min(TURNS, (secs * TURNS) / MIN_SECS));
  const timesOf = async () => {
    const load = (bytes, perSecond) => flood(service, bytes, { perSecond, secs: Math.max(MIN_SECS, secs * 2) });
    const results = await Promise.all([
      load((n) => reads[n % reads.length], READS),
      load((n) => bytesOf(service, messageOf(n), key), MESSAGES),
    ]);
    return results.map(({ byStatus }) => {
      if ([...byStatus.keys()].some((status) => status !== 200))
        throw new Error(`statuses during the walk: ${[...byStatus.keys()].join(", ")}`);
      return byStatus.get(200)?.times ?? [];
    });
  };

  const [walking, still] = [
    [[], []],
    [[], []],
  ];
  let version = 0;
  await timesOf();
  for (let turn = 0; turn < turns; turn += 1) {
    say(`rules: during the walk, turn ${turn + 1} of ${turns}`);
    let isOver = false;
    // Another rule changes before the walk of the last one ends.
    const walk = (async () => {
      while (!isOver) {
        version += 1;
        await rule(version % RULES, version);
        await sleep(CHANGE_EVERY_MS);
      }
      for (let n = 0; n < RULES; n += 1) await untilComputed(service, n, key);
    })();
    const during = await timesOf();
    isOver = true;
    await walk;
    const alone = await timesOf();
    for (const kind of [0, 1]) {
      walking[kind].push(...during[kind]);
      still[kind].push(...alone[kind]);
    }
  }
  await session.stop(service);
  return ["POST /api/metric, W1", "collect, one message"].flatMap((what, kind) =>
    [0.5, 0.99].map((part) =>
      line(
        `${what}, p${part * 100} during the walk`,
        "ms",
        quantile(walking[kind], part),
        "without it",
        quantile(still[kind], part),
      ),
    ),
  );
}
