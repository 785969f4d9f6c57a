import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { holdersOf } from "../support/holders.js";
import { isCompleteIn, removeThrough, statusOfProfile } from "../support/requests.js";
import { mongodbUrl, nameOf, onServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

/** Commands after which the connection is cut, one after the other, in the life and death of a profile. */
const CUTS = 30;

onServers(["mongodb", "influxdb", "bullmq"], "a response of MongoDB that never arrives", function () {
  this.timeout(240_000);
  let proxy: FaultProxy;
  let service: TestService;
  let name: string;

  before(async () => {
    proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
    const dir = dataFolder();
    name = nameOf(dir);
    const overrides = { entities: { url: proxy.url(mongodbUrl(name)) }, limits: { store_deadline_ms: 5_000 } };
    service = await startService(overrides, { onServers: true, dir });
  });
  after(async () => {
    await proxy.set("pass");
    await service.stop();
    await proxy.close();
  });

  it("leaves a stored DELETE complete and ready to be repeated", async () => {
    for (let round = 0; round < 5; round += 1) {
      const path = `email/lost-${round}@example.org`;
      await collect({ email: `lost-${round}@example.org`, segments: ["seen"] });
      const cut = proxy.when(insertInto("deletions"), "dropAnswers");
      const first = await remove(path);
      await cut;
      if (first === undefined) expect(await statusOf(path)).to.equal(404);
      const id = await removeThrough(service, path);
      expect(await statusOf(path)).to.equal(404);
      await until("it is complete", () => isCompleteIn(service, id), 60_000);
    }
    await until("none is open", async () => (await service.service.stores.ledger.count("open")) === 0, 60_000);
  });

  it("leaves every kind of request ready to be repeated, whichever response it is", async () => {
    for (let cut = 0; cut < CUTS; cut += 1) {
      const path = `email/cut-${cut}@example.org`;
      const message = { email: `cut-${cut}@example.org`, user_id: `cut-${cut}`, segments: ["seen"] };
      const key = `cut-${cut}`;
      const cutting = cutAfter(cut);
      const first = await collect(message, key);
      if (!first) await until("it is taken", () => collect(message, key), 30_000);
      expect(await statusOf(path)).to.equal(200);
      const id = await removeThrough(service, path);
      expect(await statusOf(path)).to.equal(404);
      await until("it is complete", () => isCompleteIn(service, id), 60_000);
      await cutting;
    }
    await until("none is open", async () => (await service.service.stores.ledger.count("open")) === 0, 60_000);
    const deletions = await service.service.stores.ledger.since(0, 1000);
    const erased = deletions.flatMap(({ deletion }) => deletion.entities);
    expect(await holdersOf(service.service.stores, erased)).to.deep.equal([]);
  });

  it("leaves a message counted once if it is repeated under its Idempotency-Key until it is accepted", async () => {
    const sizes = 12;
    for (let cut = 0; cut < sizes; cut += 1) {
      const cutting = cutAfter(cut);
      const messages = [{ email: `once-${cut}@example.org` }, { email: `twice-${cut}@example.org` }];
      await until("they are taken", () => collect(messages, `once-${cut}`, "counted"), 30_000);
      await cutting;
    }
    const counted = async () => {
      const counts = await service.service.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 1000);
      return counts.filter(({ stream }) => stream === "counted").reduce((sum, { count }) => sum + count, 0);
    };
    await until("they are counted", async () => (await counted()) >= 2 * sizes, 90_000);
    expect(await counted()).to.equal(2 * sizes);
  });

  /** Cuts the connection of the command that comes after so many others, once the server has done it. */
  async function cutAfter(commands: number): Promise<void> {
    for (let passed = 0; passed < commands; passed += 1) await proxy.when(name, "pass");
    await proxy.when(name, "dropAnswers");
  }

  async function collect(json: object, idempotencyKey?: string, stream = "web"): Promise<boolean> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const answer = await service.fetch(`/collect/json/${stream}`, { method: "POST", json, headers });
    const text = await answer.text();
    expect(answer.status, text).to.be.oneOf([200, 503]);
    return answer.status === 200;
  }

  /** The request id, or undefined when it is to be asked for again. */
  async function remove(path: string): Promise<string | undefined> {
    const answer = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
    const { status, data } = (await answer.json()) as { status: number; data: { request_id: string } | null };
    expect(status).to.be.oneOf([200, 503]);
    if (status === 503) expect(Number(answer.headers.get("retry-after"))).to.be.at.least(1);
    return data?.request_id;
  }

  /** Result of a read; a read that lost its own response is repeated. */
  async function statusOf(path: string): Promise<number> {
    let status = 503;
    await until("it is answered", async () => {
      status = await statusOfProfile(service, path);
      return status !== 503;
    });
    return status;
  }
});

/** The start of an insert on the wire: the name of the command, the length of its value, the value. */
function insertInto(collection: string): string {
  return `insert\0${String.fromCharCode(collection.length + 1)}\0\0\0${collection}\0`;
}
