import { type ChildService, startChild } from "../support/child-service.js";
import { dataFolder } from "../support/data-folder.js";
import { adminKey } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2024, 0, 1);
const WRITERS = 4;
const SERIES = 5;

/** Slots of a block: so many go into chunks, so few into the journal of the embedded engine. */
const LONG = 500;
const SHORT = 20;

/** The result of a load that was killed again and again. */
interface KilledLoad {
  /** Points in writes that were acknowledged. */
  readonly acknowledged: number;
  /** Violations found after a start. */
  readonly violations: string[];
}

/** One writer's series: all of them are written at once, with one version in every slot. */
interface Group {
  readonly name: string;
  readonly hours: number;
  acknowledged: number;
  tried: number;
}

/** A series to which increments of 1 are added, many at once and each of its own. */
interface Counter {
  readonly name: string;
  /** Increments of each request. */
  readonly size: number;
  /** Increments in requests that were acknowledged, and in all requests. */
  acknowledged: number;
  tried: number;
}

/**
 * Increments of a request of each counter: few, and more than SQLite stores in one transaction. The hour of
 * all of them, Unix ms: the slot stays open during the load.
 */
const INCREMENTS = [120, 4_500];
const OPEN_HOUR = Math.floor(Date.now() / HOUR) * HOUR - 3 * HOUR;

/**
 * Writes blocks and adds increments to a real service from several writers, kills it (`kill -9`) in the middle, starts
 * it again, and reads every slot: it must contain the version acknowledged last, or all of the version in progress; the
 * sum of the acknowledged increments, or also those in progress. Then each increment in progress is sent again, and is
 * counted once. Repeats this `kills` times.
 */
export async function loadUnderKills(kills: number): Promise<KilledLoad> {
  const dir = dataFolder();
  const groups = Array.from({ length: WRITERS }, (_, i): Group => {
    return { name: `w${i}`, hours: i % 2 === 0 ? LONG : SHORT, acknowledged: 0, tried: 0 };
  });
  const counters = INCREMENTS.map((size, i): Counter => ({ name: `c${i}`, size, acknowledged: 0, tried: 0 }));
  const violations: string[] = [];
  let acknowledged = 0;
  let service = await start(dir);
  for (let kill = 0; kill < kills; kill += 1) {
    acknowledged += await loadUntilKilled(service, { groups, counters }, 20 + ((kill * 7919) % 230));
    service = await start(dir);
    for (const group of groups) violations.push(...(await look(service.url, group)));
    for (const counter of counters) violations.push(...(await count(service.url, counter)));
  }
  service.child.child.kill("SIGKILL");
  await service.child.ended;
  return { acknowledged, violations };
}

interface Running {
  readonly child: ChildService;
  readonly url: string;
}

async function start(dir: string): Promise<Running> {
  const child = startChild({ DATA_DIR: dir, ADMIN_KEY: adminKey });
  return { child, url: await child.listening };
}

/** Lets every writer write until the service dies, `ms` after each has been acknowledged once more. */
async function loadUntilKilled(
  { child, url }: Running,
  { groups, counters }: { readonly groups: readonly Group[]; readonly counters: readonly Counter[] },
  ms: number,
): Promise<number> {
  let acknowledged = 0;
  let fresh = 0;
  const write = async (group: Group) => {
    for (let first = true; ; first = false) {
      group.tried += 1;
      const answer = await post(url, "/api/metric/points", block(group)).catch(() => undefined);
      if (answer?.status !== 200) return;
      group.acknowledged = group.tried;
      acknowledged += SERIES * group.hours;
      if (first) fresh += 1;
    }
  };
  const add = async (counter: Counter) => {
    for (let first = true; ; first = false) {
      if (!(await sendIncrements(url, counter))) return;
      acknowledged += counter.size;
      if (first) fresh += 1;
    }
  };
  const writing = [...groups.map(write), ...counters.map(add)];
  await until("every writer has been acknowledged", () => fresh === writing.length);
  await new Promise((resolve) => setTimeout(resolve, ms));
  child.child.kill("SIGKILL");
  await Promise.all([...writing, child.ended]);
  return acknowledged;
}

function block({ name, hours, tried }: Group): object {
  const ts = Array.from({ length: hours }, (_, hour) => START + hour * HOUR);
  const series = Array.from({ length: SERIES }, (_, i) => ({
    dimension: "stream",
    dimension_id: `${name}.${i}`,
    dimension_type: "size",
  }));
  return { series, ts, values: series.map(() => ts.map(() => tried)) };
}

/** Sends the increments after the acknowledged ones; returns whether they were acknowledged. */
async function sendIncrements(url: string, counter: Counter): Promise<boolean> {
  const { name, size, acknowledged } = counter;
  counter.tried = acknowledged + size;
  const points = Array.from({ length: size }, (_, i) => ({
    dimension: "stream",
    dimension_id: `counter.${name}`,
    dimension_type: "size",
    // Several sources have a point at the same instant.
    source: `${(acknowledged + i) % 4}`,
    value: 1,
    ts: OPEN_HOUR + Math.floor((acknowledged + i) / 4),
  }));
  const answer = await post(url, "/api/metric/points?mode=add", points).catch(() => undefined);
  if (answer?.status !== 200) return false;
  counter.acknowledged = counter.tried;
  return true;
}

async function count(url: string, counter: Counter): Promise<string[]> {
  const { name, acknowledged, tried } = counter;
  const found = await sumOf(url, name);
  const isSent = await sendIncrements(url, counter);
  const after = await sumOf(url, name);
  if ((found === acknowledged || found === tried) && isSent && after === tried) return [];
  return [`counter ${name}: ${found} and then ${after}, acknowledged ${acknowledged}, under way ${tried}`];
}

async function sumOf(url: string, name: string): Promise<number | undefined> {
  const series = { dimension: "stream", dimension_id: `counter.${name}`, dimension_type: "size" };
  const window = { interval: "1h", startdate: OPEN_HOUR, enddate: OPEN_HOUR + HOUR };
  const answer = await post(url, "/api/metric", [{ ...series, ...window }]);
  const { data } = (await answer.json()) as { data: { values: { value: number }[] }[] };
  return data[0]?.values[0]?.value;
}

async function look(url: string, group: Group): Promise<string[]> {
  const queries = Array.from({ length: SERIES }, (_, i) => ({
    dimension: "stream",
    dimension_id: `${group.name}.${i}`,
    dimension_type: "size",
    interval: "1h",
    startdate: START,
    enddate: START + group.hours * HOUR,
  }));
  const answer = await post(url, "/api/metric", queries);
  const { data } = (await answer.json()) as { data: { values: { value: number }[] }[] };
  const found = data.flatMap(({ values }) => values.map(({ value }) => value));
  const versions = [...new Set(found)];
  const { name, hours, acknowledged, tried } = group;
  const whole = found.length === SERIES * hours && versions.length === 1;
  if (whole && (versions[0] === acknowledged || versions[0] === tried)) {
    group.acknowledged = versions[0] as number;
    return [];
  }
  return [`${name}: ${found.length} slots of versions ${versions}, acknowledged ${acknowledged}, under way ${tried}`];
}

function post(url: string, path: string, json: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", authorization: adminKey };
  return fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(json) });
}
