import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { mongodbUrl, nameOf, onServers } from "../support/servers.js";
import { type FetchOptions, startService, type TestService } from "../support/service.js";
import { sideBySide } from "../support/side-by-side.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const SLOT = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;
/** The longest that a store may take, ms. */
const DEADLINE_MS = 3000;
/** Between two requests of a client, ms: what is to be looked at in the end stays within bounds. */
const PAUSE_MS = 100;

const point = (id: string) => ({ dimension: "stream", dimension_id: id, dimension_type: "size", value: 1, ts: SLOT });
const metricPath = (id: string) =>
  `/api/metric?dimension=stream&dimension_id=${id}&dimension_type=size&interval=1h&startdate=${SLOT}&enddate=${SLOT + HOUR}`;

/** Requests that need profiles, the ledger or the catalogue, or that other processes have to hear of. */
const needing: [what: string, path: string, options: FetchOptions][] = [
  ["a profile", "/api/entity/user/email/live@example.org", {}],
  ["no profile", "/api/entity/user/email/nobody@example.org", {}],
  ["a profile's own route", "/api/me/email/live@example.org", {}],
  ["a DELETE", "/api/entity/user/email/other@example.org", { method: "DELETE" }],
  ["a DELETE without a profile", "/api/entity/user/email/nobody@example.org", { method: "DELETE" }],
  ["the status of a deletion", "/api/entity/deletestatus/0123456789abcdef0123-1", {}],
  ["the open deletions", "/api/deletion?completed=false", {}],
  ["a message", "/collect/json/web", { method: "POST", json: { email: "late@example.org" } }],
  ["a segment that is written", "/api/segment/late", { method: "PUT", json: { name: "Late", table: "user" } }],
  ["the segments", "/api/segment", {}],
  ["the experiences", "/api/experience", {}],
  ["a point", "/api/metric/points", { method: "POST", json: [point("late")] }],
];

/** Requests that are served all the same. */
const spared: [what: string, path: string, options?: FetchOptions][] = [
  ["/health", "/health"],
  ["/metrics", "/metrics"],
  ["/openapi.json", "/openapi.json"],
  ["a series in memory", metricPath("warm")],
  ["a series that has to be read", metricPath("cold")],
];

onServers(["mongodb", "influxdb", "bullmq"], "MongoDB", function () {
  this.timeout(240_000);
  let proxy: FaultProxy;
  let service: TestService;

  before(async () => {
    proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
    const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
    const url = proxy.url(mongodbUrl(nameOf(dir)));
    const overrides = { entities: { url }, limits: { store_deadline_ms: DEADLINE_MS } };
    service = await startService(overrides, { onServers: true, dir });
    await post("/collect/json/web", [{ email: "live@example.org" }, { email: "other@example.org" }]);
    await post("/api/metric/points", [point("warm"), point("cold")]);
    for (let time = 0; time < 2; time += 1) await (await service.fetch(metricPath("warm"))).arrayBuffer();
  });
  after(async () => {
    await proxy.set("pass");
    await service.stop();
    await proxy.close();
  });

  for (const [how, fault] of [
    ["that has stopped", "refuse"],
    ["that takes connections and never answers", "blackhole"],
  ] as const) {
    it(`${how} makes every answer that needs it a 503 in time and spares the others, and nothing acknowledged is lost`, async () => {
      const opened: string[] = [];
      for (let index = 0; index < 5; index += 1)
        opened.push(await remove(`email/open-${how.length}-${index}@example.org`));
      await proxy.set(fault);
      try {
        await Promise.all(needing.map((request) => expectLater(...request)));
        await Promise.all(
          spared.map(async ([what, path, options]) => {
            const answer = await service.fetch(path, options);
            expect(answer.status, `${what}: ${await answer.text()}`).to.equal(200);
          }),
        );
        await expectLater("/ready", "/ready", {});
      } finally {
        await proxy.set("pass");
      }
      await until("it is ready", async () => (await service.fetch("/ready")).status === 200, 60_000);
      for (const id of opened) await until("it is complete", () => isComplete(id), 60_000);
      expect(await statusOf("/api/entity/user/email/live@example.org")).to.equal(200);
      expect(await statusOf(metricPath("cold"))).to.equal(200);
      await post("/api/metric/points", [point("late")]);
      await post("/collect/json/web", { email: `late-${fault}@example.org` });
    });
  }

  it("that goes and comes under load loses nothing that was acknowledged", async () => {
    const people: string[] = [];
    const removed: { person: string; id: string }[] = [];
    const strange: string[] = [];
    let stopped = false;
    const clients = Array.from({ length: 3 }, async (_, client) => {
      for (let turn = 0; !stopped; turn += 1) {
        await sleep(PAUSE_MS);
        const person = `flap-${client}-${turn}`;
        const answer = await service.fetch("/collect/json/web", {
          method: "POST",
          json: { email: `${person}@example.org` },
        });
        const text = await answer.text();
        if (answer.status === 200) people.push(person);
        else if (!isLater(answer, text)) strange.push(`${answer.status} ${text}`);
        if (turn % 4 !== 3 || answer.status !== 200) continue;
        const deleted = await service.fetch(`/api/entity/user/email/${person}@example.org`, { method: "DELETE" });
        const body = await deleted.text();
        if (deleted.status === 200) removed.push({ person, id: JSON.parse(body).data.request_id });
        else if (isLater(deleted, body)) people.splice(people.indexOf(person), 1);
        else strange.push(`${deleted.status} ${body}`);
      }
    });
    for (let round = 0; round < 3; round += 1) {
      const wanted = people.length + 5;
      await until("messages are taken", () => people.length >= wanted, 60_000);
      await proxy.set("refuse");
      await until("it is noticed", async () => (await service.fetch("/ready")).status === 503, 30_000);
      await proxy.set("pass");
    }
    await until("a deletion is accepted", () => removed.length > 0, 60_000);
    stopped = true;
    await Promise.all(clients);
    expect(strange.slice(0, 3)).to.deep.equal([]);
    for (const { id } of removed) await until("it is complete", () => isComplete(id), 60_000);
    const erased = new Set(removed.map(({ person }) => person));
    await sideBySide(people, async (person) => {
      const status = await statusOf(`/api/entity/user/email/${person}@example.org`);
      expect(status, person).to.equal(erased.has(person) ? 404 : 200);
    });
  });

  it("that is far away is waited for", async () => {
    await proxy.set({ latency: 20 });
    try {
      await post("/collect/json/web", { email: "far@example.org" });
      expect(await statusOf("/api/entity/user/email/far@example.org")).to.equal(200);
      const id = await remove("email/far@example.org");
      expect(await statusOf("/api/entity/user/email/far@example.org")).to.equal(404);
      await until("it is complete", () => isComplete(id), 30_000);
    } finally {
      await proxy.set("pass");
    }
  });

  async function expectLater(what: string, path: string, options: FetchOptions): Promise<void> {
    const answer = await service.fetch(path, options);
    const text = await answer.text();
    expect(answer.status, `${what}: ${text}`).to.equal(503);
    expect(isLater(answer, text), `${what}: ${text}`).to.equal(true);
  }

  async function post(path: string, json: unknown): Promise<void> {
    await until(`${path} is taken`, async () => {
      const answer = await service.fetch(path, { method: "POST", json });
      await answer.arrayBuffer();
      return answer.status === 200;
    });
  }

  async function remove(path: string): Promise<string> {
    const answer = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
    expect(answer.status).to.equal(200);
    return ((await answer.json()) as { data: { request_id: string } }).data.request_id;
  }

  async function isComplete(id: string): Promise<boolean> {
    const answer = await service.fetch(`/api/entity/deletestatus/${id}`);
    const { data } = (await answer.json()) as { data: { completed: boolean } | null };
    expect(answer.status).to.be.oneOf([200, 503]);
    return data?.completed === true;
  }

  async function statusOf(path: string): Promise<number> {
    const answer = await service.fetch(path);
    await answer.arrayBuffer();
    return answer.status;
  }
});

/** Whether an answer says, as JSON, that it is to be asked again later. */
function isLater(answer: Response, text: string): boolean {
  if (answer.status !== 503 || !(Number(answer.headers.get("retry-after")) >= 1)) return false;
  const { status, errors } = JSON.parse(text) as { status: number; errors: unknown[] };
  return status === 503 && errors.length > 0;
}
