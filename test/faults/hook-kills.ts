import { setTimeout as sleep } from "node:timers/promises";
import { HOOK_LEASE_MS } from "../../src/hooks/sender.js";
import { dataFolder } from "../support/data-folder.js";
import { dropFromServers } from "../support/drop-from-servers.js";
import { type HookReceiver, hookReceiver } from "../support/hook-receiver.js";
import { type RealService, startReal } from "../support/real-service.js";
import { removeThrough, removeUnlessKilled } from "../support/requests.js";
import { environmentOnServers, nameOf, storesOnServers } from "../support/servers.js";
import { until } from "../support/until.js";

/** People who join in each life of a process; in the next life most of them leave, and the others are erased. */
const PEOPLE = 20;
const ERASED = 3;

/** Failpoints of some lives; in the others the process is killed at a random instant. */
const failpoints = ["hook-claimed", "hook-answered", undefined, undefined];

/** Time until the lease of a killed process ends on servers, ms: only then does the next one send. */
const LEASED_MS = storesOnServers ? HOOK_LEASE_MS : 0;

/**
 * Lets people join, and leave or be erased in the next life of the process, one of whom comes back, and lets some be
 * erased after they have left, while the process is killed again and again. Returns the changes that a hook did not
 * receive, or not in order, or of an erased person.
 */
export async function hookUnderKills(
  kills: number,
): Promise<{ readonly changes: number; readonly violations: string[] }> {
  const dir = dataFolder();
  const receiver = await hookReceiver();
  const HOOKS = JSON.stringify([{ name: "crm", url: receiver.url, token: "t", segments: ["*"] }]);
  const environment = { ...(storesOnServers ? environmentOnServers(nameOf(dir)) : {}), HOOKS };
  const violations: string[] = [];
  const erased = new Map<string, number>();
  const returned = new Map<string, number>();
  try {
    for (let life = 0; life <= kills; life += 1) {
      const FAILPOINT = life < kills ? failpoints[life % failpoints.length] : undefined;
      const service = await startReal(dir, { ...environment, ...(FAILPOINT === undefined ? {} : { FAILPOINT }) });
      const leaving = people(life - 1);
      const members = leaving.splice(0, ERASED);
      const messages = [...joining(people(life)), ...leaving.map((email) => message(email, [], ["vip"]))];
      const sent = collectOnce(service, messages, `life-${life}`).catch(() => false);
      const removed = members.map(async (email) => {
        const requestId = await removeUnlessKilled(service, `email/${email}`);
        if (requestId !== undefined) erased.set(email, performance.now());
      });
      if (life < kills) {
        if (FAILPOINT === undefined) await sleep(LEASED_MS + Math.random() * 1_200);
        else await Promise.race([service.gone, sleep(LEASED_MS + 5_000)]);
        await service.kill();
      }
      await Promise.all([sent, ...removed]);
      // Changes of one person must not cancel each other, so the next life begins when the outbox is empty.
      const next = life < kills ? await startReal(dir, environment) : service;
      if (!(await sent)) await collectOnce(next, messages, `life-${life}`);
      for (const email of [...members, ...people(life - 2).slice(-2)]) {
        if (!erased.has(email)) await removeThrough(next, `email/${email}`);
        erased.set(email, erased.get(email) ?? performance.now());
      }
      const back = members.slice(0, 1);
      for (const email of back) returned.set(email, performance.now());
      await collectOnce(next, joining(back), `back-${life}`);
      await until("the hook is told", () => isTold(next), 60_000);
      if (life === kills) await until("all deletions are completed", () => hasNoneOpen(next), 60_000);
      await next.kill();
    }
    violations.push(...wrongChanges(receiver, kills, erased, returned));
    return { changes: receiver.events().length, violations };
  } finally {
    await receiver.close();
    if (storesOnServers) await dropFromServers(nameOf(dir));
  }
}

function message(email: string, add: readonly string[], remove: readonly string[]) {
  return { email, segments: { add, remove } };
}

function joining(emails: readonly string[]) {
  return emails.map((email) => message(email, ["vip"], []));
}

function people(life: number): string[] {
  return life < 0 ? [] : Array.from({ length: PEOPLE }, (_, n) => `p${life}-${n}@example.org`);
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

async function hasNoneOpen(service: RealService): Promise<boolean> {
  const { data } = (await (await service.fetch("/api/deletion")).json()) as { data: object[] };
  return data.length === 0;
}

/**
 * Each person joined, and left except in the last life: received at least once, never joined after left unless the
 * person came back, and only left after the answer to a DELETE.
 */
function wrongChanges(
  receiver: HookReceiver,
  kills: number,
  erased: ReadonlyMap<string, number>,
  returned: ReadonlyMap<string, number>,
): string[] {
  const byPerson = new Map<string, string[]>();
  const wrong: string[] = [];
  for (const { body, began } of receiver.requests) {
    for (const { change, identities } of body.events) {
      const email = identities?.email?.[0] as string;
      byPerson.set(email, [...(byPerson.get(email) ?? []), change]);
      const isLate = change !== "left" && began > (erased.get(email) ?? Number.POSITIVE_INFINITY);
      if (isLate && began < (returned.get(email) ?? Number.POSITIVE_INFINITY))
        wrong.push(`${email} was told after the deletion`);
    }
  }
  const stay = [...people(kills), ...returned.keys()];
  for (let life = 0; life <= kills; life += 1) {
    for (const email of people(life)) {
      const told = (byPerson.get(email) ?? []).join(" ");
      const expected = returned.has(email)
        ? /^joined.* left.* joined$/
        : life === kills
          ? /^joined( joined)*$/
          : /^joined( joined)* left( left)*$/;
      if (!expected.test(told)) wrong.push(`${email}: ${told}`);
    }
  }
  const known = receiver.members("vip").flat();
  const isKnown = new Set(known);
  if (known.length !== stay.length || !stay.every((email) => isKnown.has(`email:${email}`)))
    wrong.push(`knows ${known.length} members instead of ${stay.length}`);
  return wrong;
}
