import { setTimeout as sleep } from "node:timers/promises";
import { type HookReceiver, hookReceiver } from "../support/hook-receiver.js";
import { type RealService, startReal, temporaryFolder } from "../support/real-service.js";
import { removeThrough } from "../support/requests.js";
import { until } from "../support/until.js";

/** People who join and leave in each life of a process. */
const PEOPLE = 20;

/** Failpoints of some lives; in the others the process is killed at a random instant. */
const failpoints = ["hook-claimed", "hook-answered", undefined, undefined];

/**
 * Lets people join, leave in the next life of the process, and some be erased after that, while the process is killed
 * again and again. Returns the changes that a hook did not receive, or not in order, or of an erased person.
 */
export async function hookUnderKills(
  kills: number,
): Promise<{ readonly changes: number; readonly violations: string[] }> {
  const folder = temporaryFolder();
  const receiver = await hookReceiver();
  const HOOKS = JSON.stringify([{ name: "crm", url: receiver.url, token: "t", segments: ["*"] }]);
  const violations: string[] = [];
  const erased = new Map<string, number>();
  try {
    for (let life = 0; life <= kills; life += 1) {
      const FAILPOINT = life < kills ? failpoints[life % failpoints.length] : undefined;
      const service = await startReal(folder.dir, { HOOKS, ...(FAILPOINT === undefined ? {} : { FAILPOINT }) });
      const isKilled = () => !isRunning(service);
      const messages = [
        ...people(life).map((email) => ({ email, segments: { add: ["vip"], remove: [] } })),
        ...people(life - 1).map((email) => ({ email, segments: { add: [], remove: ["vip"] } })),
      ];
      const sent = collectOnce(service, messages, `life-${life}`).catch(() => false);
      if (life === kills) {
        if (!(await sent)) violations.push("the last request was not taken");
        await until("the hook is told", () => isTold(service), 60_000);
        await service.stop();
        break;
      }
      if (FAILPOINT === undefined) await sleep(Math.random() * 1_200);
      else await Promise.race([service.gone, sleep(5_000)]);
      await service.kill();
      // Changes of one person must not cancel each other, so the next life begins when the outbox is empty.
      const next = await startReal(folder.dir, { HOOKS });
      if (!(await sent)) await collectOnce(next, messages, `life-${life}`);
      for (const email of people(life - 2).slice(0, 2)) {
        await removeThrough(next, `email/${email}`);
        erased.set(email, performance.now());
      }
      await until("the hook is told", () => isTold(next), 60_000);
      await next.kill();
      if (!isKilled()) violations.push("the process still runs");
    }
    violations.push(...wrongChanges(receiver, kills, erased));
    return { changes: receiver.events().length, violations };
  } finally {
    await receiver.close();
    folder.remove();
  }
}

function people(life: number): string[] {
  return life < 0 ? [] : Array.from({ length: PEOPLE }, (_, n) => `p${life}-${n}@example.org`);
}

function isRunning({ pid }: RealService): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function collectOnce(service: RealService, messages: readonly object[], key: string): Promise<boolean> {
  const init = { method: "POST", json: messages, headers: { "idempotency-key": key } };
  const response = await service.fetch("/collect/json/web", init);
  await response.arrayBuffer();
  return response.status === 200;
}

async function isTold(service: RealService): Promise<boolean> {
  const { data } = (await (await service.fetch("/api/hook")).json()) as { data: { waiting: number }[] };
  return data.every(({ waiting }) => waiting === 0);
}

/** Each person joined, and left except in the last life: received at least once, never joined after left. */
function wrongChanges(receiver: HookReceiver, kills: number, erased: ReadonlyMap<string, number>): string[] {
  const byPerson = new Map<string, string[]>();
  const wrong: string[] = [];
  for (const { body, began } of receiver.requests) {
    for (const { change, identities } of body.events) {
      const email = identities?.email?.[0] as string;
      byPerson.set(email, [...(byPerson.get(email) ?? []), change]);
      if (began > (erased.get(email) ?? Number.POSITIVE_INFINITY)) wrong.push(`${email} was told after the deletion`);
    }
  }
  for (let life = 0; life <= kills; life += 1) {
    for (const email of people(life)) {
      const told = (byPerson.get(email) ?? []).join(" ");
      const expected = life === kills ? /^joined( joined)*$/ : /^joined( joined)* left( left)*$/;
      if (!expected.test(told)) wrong.push(`${email}: ${told}`);
    }
  }
  return wrong;
}
