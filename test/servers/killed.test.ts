import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type ProcessSet, processSet } from "../support/process-set.js";
import type { RealService } from "../support/real-service.js";
import { collectThrough, isCompleteIn, removeThrough, statusOf } from "../support/requests.js";
import { onServers } from "../support/servers.js";
import { sideBySide } from "../support/side-by-side.js";
import { until } from "../support/until.js";

const KILLS = 8;
/** What is acknowledged between two kills. */
const BETWEEN_KILLS = 15;
const CLIENTS = 4;
/** Between two requests of a client, ms: what is to be looked at in the end stays within bounds. */
const PAUSE_MS = 150;
const HOUR = 3_600_000;
const START = Date.UTC(2020, 0, 1);
const ROLES = ["api", "worker", "api", "worker"] as const;

/** What was answered to clients, and what they were not sure of. */
interface Known {
  readonly people: Set<string>;
  readonly points: Map<number, number>;
  readonly deletions: Map<string, string>;
  /** Those whom a DELETE without an answer was about. */
  readonly unsure: Set<string>;
  /** Answers that neither did what was asked nor said "later". */
  readonly strange: string[];
  acknowledged: number;
}

onServers(["mongodb", "influxdb", "bullmq"], "two api processes and two workers, killed at any time", function () {
  this.timeout(600_000);
  let set: ProcessSet;
  before(async () => {
    set = await processSet();
  });
  after(() => set.close());

  it(`lose nothing that was acknowledged, bring no erased profile back and finish every deletion, over ${KILLS} kills under load`, async () => {
    const running = await Promise.all(ROLES.map((role) => set.start(role)));
    const apis = () => running.filter((_, index) => ROLES[index] === "api");
    const known: Known = {
      people: new Set(),
      points: new Map(),
      deletions: new Map(),
      unsure: new Set(),
      strange: [],
      acknowledged: 0,
    };
    let stopped = false;
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let turn = 0; !stopped; turn += 1) {
        await act(apis()[(client + turn) % 2] as RealService, client, turn, known);
        await sleep(PAUSE_MS);
      }
    });
    for (let kill = 0; kill < KILLS; kill += 1) {
      const wanted = known.acknowledged + BETWEEN_KILLS;
      await until("the load goes on", () => known.acknowledged >= wanted, 60_000);
      const index = kill % ROLES.length;
      await (running[index] as RealService).kill();
      running[index] = await set.start(ROLES[index] as (typeof ROLES)[number]);
    }
    stopped = true;
    await Promise.all(clients);
    expect(known.strange.slice(0, 3)).to.deep.equal([]);

    const [one, other] = apis() as [RealService, RealService];
    const ended = performance.now();
    for (const id of known.deletions.values())
      await until("it is complete", () => isCompleteIn(one, id), Math.max(1, 60_000 - (performance.now() - ended)));
    await sideBySide(known.people, async (person) => {
      const status = await statusOf(other, `/api/entity/user/email/${person}@example.org`);
      if (!known.unsure.has(person)) expect(status, person).to.equal(known.deletions.has(person) ? 404 : 200);
    });
    expect(await lostPoints(one, known.points)).to.deep.equal([]);
    expect(known.deletions.size).to.be.above(KILLS);
  });
});

/** One thing that a client asks for; what has no answer, or is answered 503, is not acknowledged. */
async function act(api: RealService, client: number, turn: number, known: Known): Promise<void> {
  const person = `p-${client}-${turn}`;
  const number = client * 4_000 + turn;
  try {
    if (turn % 3 === 0) {
      await collectThrough(api, [{ email: `${person}@example.org`, user_id: person, segments: ["seen"] }]);
      known.people.add(person);
    } else if (turn % 3 === 1) {
      await write(api, number, number);
      known.points.set(number, number);
    } else {
      const gone = `p-${client}-${turn - 2}`;
      if (turn % 2 === 0 || !known.people.has(gone)) return;
      known.unsure.add(gone);
      known.deletions.set(gone, await removeThrough(api, `user_id/${gone}`));
      known.unsure.delete(gone);
    }
    known.acknowledged += 1;
  } catch (error) {
    // A connection that broke, or "later".
    if (!(error instanceof TypeError) && !/: 503$/.test(String(error))) known.strange.push(`${person}: ${error}`);
  }
}

async function write(api: RealService, slot: number, value: number): Promise<void> {
  const point = { dimension: "stream", dimension_id: `s${slot % 7}`, dimension_type: "size" };
  const json = [{ ...point, value, ts: START + slot * HOUR }];
  const answer = await api.fetch("/api/metric/points", { method: "POST", json });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`points: ${answer.status}`);
}

async function lostPoints(api: RealService, points: ReadonlyMap<number, number>): Promise<string[]> {
  const lost: string[] = [];
  await sideBySide(points, async ([slot, value]) => {
    const hour = START + slot * HOUR;
    const names = `dimension=stream&dimension_id=s${slot % 7}&dimension_type=size&interval=1h`;
    const answer = await api.fetch(`/api/metric?${names}&startdate=${hour}&enddate=${hour + HOUR}`);
    const { data } = (await answer.json()) as { data: [{ values: { value: number }[] }] };
    if (data[0].values[0]?.value !== value) lost.push(`${slot}: ${JSON.stringify(data[0].values)}`);
  });
  return lost;
}
