import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type ServiceBehindProxy, startBehindProxy } from "../support/behind-proxy.js";
import { isCompleteIn, statusOfProfile } from "../support/requests.js";
import { onServers } from "../support/servers.js";
import { sideBySide } from "../support/side-by-side.js";
import { until } from "../support/until.js";

/** The longest that a store may take, ms. */
const DEADLINE_MS = 3000;
/** Between two requests of a client, ms: what is to be looked at in the end stays within bounds. */
const PAUSE_MS = 100;

onServers(["mongodb", "influxdb", "bullmq"], "MongoDB that goes and comes", function () {
  this.timeout(240_000);
  let on: ServiceBehindProxy;

  before(async () => {
    on = await startBehindProxy(DEADLINE_MS);
  });
  after(() => on.close());

  it("loses nothing under load that was acknowledged", async () => {
    const { service, proxy } = on;
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
    for (const { id } of removed) await until("it is complete", () => isCompleteIn(service, id), 60_000);
    const erased = new Set(removed.map(({ person }) => person));
    await sideBySide(people, async (person) => {
      const status = await statusOfProfile(service, `email/${person}@example.org`);
      expect(status, person).to.equal(erased.has(person) ? 404 : 200);
    });
  });
});

/** Whether an answer says, as JSON, that it is to be asked again later. */
function isLater(answer: Response, text: string): boolean {
  if (answer.status !== 503 || !(Number(answer.headers.get("retry-after")) >= 1)) return false;
  const { status, errors } = JSON.parse(text) as { status: number; errors: unknown[] };
  return status === 503 && errors.length > 0;
}
