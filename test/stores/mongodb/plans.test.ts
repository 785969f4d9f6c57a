import { expect } from "chai";
import { MongoClient } from "mongodb";
import { MAX_WAIT_MS, NOTIFICATION } from "../../../src/deletions/deletion.js";
import type { History } from "../../../src/entities/ports.js";
import { noScope, someDeletion } from "../../contracts/ledger.contract.js";
import { dropFromServers } from "../../support/drop-from-servers.js";
import { mongodbUrl, onServers, ownName, testPepper } from "../../support/servers.js";
import { startService, type TestService } from "../../support/service.js";
import { until } from "../../support/until.js";

/** An operation that the profiler of a database noted. */
interface Profiled {
  readonly ns: string;
  readonly op: string;
  readonly planSummary?: string;
  readonly docsExamined?: number;
  readonly command?: Readonly<Record<string, unknown>>;
}

onServers(["mongodb"], "a query of MongoDB", function () {
  this.timeout(60_000);
  let name: string;
  let client: MongoClient;
  let service: TestService;

  before(async () => {
    name = ownName();
    client = new MongoClient(mongodbUrl(name));
    service = await startService({
      entities: { url: mongodbUrl(name) },
      pepper: testPepper,
      history: { retention: "1d" },
    });
    // For an empty collection the planner chooses a scan.
    await send(
      "POST",
      "/collect/json/web",
      Array.from({ length: 200 }, (_, n) => person(n)),
    );
    for (const database of [name, `${name}_ledger`]) await client.db(database).command({ profile: 2 });
  });

  after(async () => {
    await service.stop();
    await client.close();
    await dropFromServers(name);
  });

  const person = (n: number) => ({ _uid: `u${n}`, email: `u${n}@example.org`, segments: ["all", `s${n % 9}`] });

  async function send(method: string, path: string, json?: unknown): Promise<Record<string, unknown>> {
    const response = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
    const { data } = (await response.json()) as { data: Record<string, unknown> };
    expect(response.status, `${method} ${path}`).to.equal(200);
    return data;
  }

  it("uses an index, on every route and in every worker", async () => {
    await send("POST", "/collect/json/web", [
      person(1),
      person(300),
      { _uid: "u2", user_id: "x", segments: { remove: ["all"] } },
    ]);
    await send("POST", "/collect/json/web", { _uid: "u3", user_id: "x" });
    await send("GET", "/api/entity/user/_uid/u1");
    await send("GET", "/api/segment");
    await send("GET", "/api/segment?table=user");
    await send("GET", "/api/segment/sizes");
    await send("PUT", "/api/segment/all", { name: "All", table: "user" });
    await send("PUT", "/api/experience/x", { name: "X", audience: "all", goal: "s1" });
    await send("GET", "/api/experience");
    await send("GET", "/api/stream");
    for (const query of ["q=s", "sort=name", "order=desc", "sort=change&range=1d"]) {
      for (const list of ["segment", "experience", "stream"]) await send("GET", `/api/${list}?limit=2&${query}`);
    }
    await send("GET", "/api/segment?sort=size&order=desc");
    await send("GET", "/api/segment?table=user&sort=size");
    await send("GET", "/api/stream?sort=day");
    const members = await service.fetch("/api/segment/s1/members", { method: "POST", json: { fields: ["email"] } });
    expect(await members.text()).to.match(/"members":\d+,"next":null/);
    await send("DELETE", "/api/segment/s8");
    const { catalogue, history, idempotency } = service.service.stores;
    await send("GET", "/api/segment/sizes?ids=s1,s8");
    await catalogue.endMemberships();
    await send("POST", "/api/deletion/preview", { table: "user", field: "_uid", value: "u4" });
    const { request_id: id } = await send("DELETE", "/api/entity/user/email/u4%40example.org");
    for (const query of ["?reasons=true", "?state=all", "?state=completed&order=asc"])
      await send("GET", `/api/deletion${query}`);
    await until("the deletion", async () => (await send("GET", `/api/entity/deletestatus/${id}`)).completed === true);
    await readPages(history);
    await history.expire(Date.now() + 1000);
    await idempotency.forget(Date.now());
    const scans = (await profiled()).filter((one) => one.planSummary?.includes("COLLSCAN") || readsTooMuch(one));
    expect(scans.map(({ ns, op, command }) => `${op} ${ns} ${JSON.stringify(command).slice(0, 200)}`)).to.deep.equal(
      [],
    );
  });

  it("of the deletions of a state reads no other deletion", async () => {
    const { ledger } = service.service.stores;
    const notBefore = Date.now() + MAX_WAIT_MS / 2;
    const names = Array.from({ length: 200 }, (_, n) => `n${n}`);
    await Promise.all(names.map((one) => ledger.accept(someDeletion(one, { notBefore }), noScope)));
    const since = new Date();
    expect([await ledger.count("stuck"), await ledger.count("completed", NOTIFICATION)]).to.deep.equal([0, 0]);
    expect(await ledger.firstOpen(["hash-n7"])).to.equal("n7-1700000000");
    const asked = client
      .db(`${name}_ledger`)
      .collection("system.profile")
      .find({
        ts: { $gte: since },
        $or: [{ "command.aggregate": "deletions" }, { "command.filter.hashes.$in": "hash-n7" }],
      });
    const reads = (await asked.toArray()) as unknown as Profiled[];
    expect(reads.map(({ docsExamined }) => docsExamined)).to.deep.equal([0, 0, 1, 1]);
  });

  /** Reads like an export. */
  async function readPages(history: History): Promise<void> {
    const first = await client
      .db(name)
      .collection<{ _id: string }>("entities")
      .findOne({ _id: { $gt: "" } });
    let page = await history.page([first?._id ?? ""], undefined, 1);
    expect(page).to.have.lengthOf(1);
    while (page.length > 0) page = await history.page([first?._id ?? ""], page[0], 1);
  }

  /**
   * The summary does not contain the lookup of profiles by identities, nor the end of the range of an index: a scan of
   * them examines 100 documents and more.
   */
  function readsTooMuch({ command, docsExamined = 0 }: Profiled): boolean {
    return (command?.aggregate === "identities" || command?.hint !== undefined) && docsExamined >= 100;
  }

  /** Operations on the service's collections that are large or can grow, except operations of this test. */
  async function profiled(): Promise<Profiled[]> {
    const found: Profiled[] = [];
    for (const database of [name, `${name}_ledger`]) {
      const operations = client
        .db(database)
        .collection("system.profile")
        .find({ ns: { $not: /system\./ } });
      found.push(...((await operations.toArray()) as unknown as Profiled[]));
    }
    expect(found.length).to.be.greaterThan(30);
    return found;
  }
});
