import { rmSync } from "node:fs";
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

/**
 * Writes blocks to a real service from several writers, kills it (`kill -9`) in the middle, starts it again, and reads
 * every slot: it must contain the version acknowledged last, or all of the version in progress. Repeats this `kills`
 * times.
 */
export async function loadUnderKills(kills: number): Promise<KilledLoad> {
  const dir = dataFolder();
  const groups = Array.from({ length: WRITERS }, (_, i): Group => {
    return { name: `w${i}`, hours: i % 2 === 0 ? LONG : SHORT, acknowledged: 0, tried: 0 };
  });
  const violations: string[] = [];
  let acknowledged = 0;
  try {
    let service = await start(dir);
    for (let kill = 0; kill < kills; kill += 1) {
      acknowledged += await loadUntilKilled(service, groups, 20 + ((kill * 7919) % 230));
      service = await start(dir);
      for (const group of groups) violations.push(...(await look(service.url, group)));
    }
    service.child.child.kill("SIGKILL");
    await service.child.ended;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
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
async function loadUntilKilled({ child, url }: Running, groups: readonly Group[], ms: number): Promise<number> {
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
  const writing = groups.map(write);
  await until("every writer has been acknowledged", () => fresh === groups.length);
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
