import { expect } from "chai";
import type { RealService } from "../../support/real-service.js";
import { isCompleteIn } from "../../support/requests.js";
import { sideBySide } from "../../support/side-by-side.js";
import { until } from "../../support/until.js";
import { ask } from "./ask.js";
import { HOUR, type Known, POINTS_FROM, pathOf, pointsOf } from "./steady-load.js";

/** Maximum time of deletions and counts after the end of the load, ms. */
const COMPLETE_MS = 60_000;
const COUNTED_MS = 120_000;

/** Compares the data of both processes with `known` after the load; `at` is the event time of the messages. */
export async function checkLoad(apis: readonly [RealService, RealService], known: Known, at: number): Promise<void> {
  for (const [person, id] of known.deletions)
    await until(`the deletion of ${person} is complete`, () => isCompleteIn(apis[0], id), COMPLETE_MS);
  for (const api of apis) expect(await wrongPeople(api, known)).to.deep.equal([]);
  expect(await wrongPoints(apis[1], known)).to.deep.equal([]);
  await expectSegment(apis[0], known);
  for (const stream of known.messages.keys()) await expectCount(apis[1], known, stream, at);
}

async function wrongPeople(api: RealService, known: Known): Promise<string[]> {
  const wrong: string[] = [];
  await sideBySide(known.people, async ([person, collected]) => {
    const { status, body, text } = await ask(api, pathOf(person));
    const allowed = isErased(person, known) ? [404] : isSure(person, collected, known) ? [200] : [200, 404];
    if (!allowed.includes(status)) wrong.push(`${allowed}: ${text}`);
    if (status !== 200) return;
    const { data } = body as { data: object };
    const version = known.versions.get(person);
    const { name, segments } = { ...data } as { name?: string; segments?: string[] };
    const isRight =
      name === person && segments?.join() === "seen" && (data as { version?: number }).version === version;
    if (!isRight) wrong.push(`${person}, version ${version}: ${text}`);
  });
  return wrong;
}

function isErased(person: string, known: Known): boolean {
  return known.deletions.has(person) && known.people.get(person) === "acknowledged";
}

function isSure(person: string, collected: string, known: Known): boolean {
  return collected === "acknowledged" && !known.maybeErased.has(person);
}

async function wrongPoints(api: RealService, known: Known): Promise<string[]> {
  const wrong: string[] = [];
  for (const [client, points] of known.points) {
    const found = await valuesOf(api, pointsOf(client), POINTS_FROM, POINTS_FROM + HOUR * (points.size + 1));
    for (const [slot, { value, acknowledged }] of points) {
      const kept = found.get(POINTS_FROM + slot * HOUR);
      if (kept !== value && (acknowledged || kept !== undefined))
        wrong.push(`${client} ${slot}: ${kept}, not ${value}`);
    }
  }
  return wrong;
}

/** Each person is a member. */
async function expectSegment(api: RealService, known: Known): Promise<void> {
  const people = [...known.people].filter(([person]) => !isErased(person, known));
  const sure = people.filter(([person, collected]) => isSure(person, collected, known)).length;
  const { body } = await ask(api, "/api/segment/seen");
  expect((body as { data: { size: number } }).data.size, "members").to.be.within(sure, people.length);
}

/** A deletion changes no count, and a request that is repeated with its key is counted once. */
async function expectCount(api: RealService, known: Known, stream: string, at: number): Promise<void> {
  const { acknowledged, unsure } = known.messages.get(stream) ?? { acknowledged: 0, unsure: 0 };
  const slot = Math.floor(at / HOUR) * HOUR;
  const counted = async () => (await valuesOf(api, stream, slot, slot + HOUR)).get(slot) ?? 0;
  await until(
    `${acknowledged} messages of ${stream} are counted`,
    async () => (await counted()) >= acknowledged,
    COUNTED_MS,
  );
  expect(await counted(), stream).to.be.within(acknowledged, acknowledged + unsure);
}

async function valuesOf(api: RealService, id: string, from: number, to: number): Promise<Map<number, number>> {
  const names = `dimension=stream&dimension_id=${id}&dimension_type=size&interval=1h`;
  const { body, text } = await ask(api, `/api/metric?${names}&startdate=${from}&enddate=${to}`);
  const { data } = body as { data: [{ values: { ts: string; value: number }[] }] | null };
  if (data === null) throw new Error(text);
  return new Map(data[0].values.map(({ ts, value }) => [Number(ts), value]));
}
