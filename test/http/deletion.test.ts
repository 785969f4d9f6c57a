import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { noFailpoint } from "../../src/failpoint.js";
import { type DeletionRouteParts, deletionRoutes } from "../../src/http/deletions/index.js";
import type { Asked } from "../../src/http/route.js";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { shippedTables } from "../support/entity-stage.js";
import { openSocket } from "../support/raw-request.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

describe("the deletion routes", () => {
  let service: TestService;

  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  async function remove(path: string) {
    const response = await service.fetch(`/api/entity/${path}`, { method: "DELETE" });
    return { response, body: (await response.json()) as { data: { request_id: string; completed: boolean } } };
  }

  async function status(id: string) {
    const response = await service.fetch(`/api/entity/deletestatus/${id}`);
    return { response, body: (await response.json()) as { data: { completed: boolean } } };
  }

  it("accept a DELETE and answer its request id", async () => {
    const { response, body } = await remove("user/email/ann@example.org");
    expect(response.status).to.equal(200);
    expect(response.headers.get("cache-control")).to.equal("no-store");
    expect(body.data.request_id).to.match(/^[0-9a-f]{20}-[0-9]+$/);
    expect(body).to.deep.equal({
      status: 200,
      message: "Delete request received",
      data: { request_id: body.data.request_id, completed: false },
    });
  });

  it("answer the status of a request, and in time that it is complete", async () => {
    const { body } = await remove("user/email/ben@example.org");
    const id = body.data.request_id;
    const first = await status(id);
    expect(first.response.status).to.equal(200);
    expect(first.response.headers.get("cache-control")).to.equal("no-store");
    expect(first.body).to.have.all.keys("status", "message", "data");
    expect(first.body.data).to.have.all.keys("request_id", "completed");
    await until("it is complete", async () => (await status(id)).body.data.completed);
    expect((await status(id)).body).to.deep.equal({
      status: 200,
      message: "Delete request received",
      data: { request_id: id, completed: true },
    });
  });

  const unknown = [
    "0123456789abcdef0123-1700000000",
    "0123456789ABCDEF0123-1700000000",
    "nobody",
    "0",
    "x".repeat(3000),
    "%27%20OR%201=1--",
    "..%2Fdeletestatus",
  ];
  for (const id of unknown) {
    it(`answer 404 for the status of ${id.slice(0, 40)}`, async () => {
      const { response } = await status(id);
      expect(response.status).to.equal(404);
      expect(response.headers.get("cache-control")).to.equal("no-store");
      expect(response.headers.get("content-type")).to.match(/^application\/json/);
    });
  }

  const refused: [string, number][] = [
    ["nobody/email/ann@example.org", 404],
    ["deletestatus/email/ann@example.org", 404],
    ["segments/email/ann@example.org", 404],
    ["user/name/ann", 400],
    ["user/EMAIL/ann@example.org", 400],
    ["user/__proto__/ann", 400],
    ["user/email.%24ne/ann", 400],
    ["user/email/%20", 400],
    ["user/email/Anonymous", 400],
    ["user/email/%00", 400],
    ["user/email/%zz", 400],
    ["user/email/", 404],
    ["user//ann", 404],
    [`user/email/${"x".repeat(1025)}`, 400],
  ];
  for (const [path, expected] of refused) {
    it(`answer ${expected} for a DELETE of ${path.slice(0, 40)}, and keep nothing`, async () => {
      const before = await service.service.stores.ledger.since(0, 1000);
      const response = await service.fetch(`/api/entity/${path}`, { method: "DELETE" });
      expect(response.status).to.equal(expected);
      expect(response.headers.get("cache-control")).to.equal("no-store");
      expect(response.headers.get("content-type")).to.match(/^application\/json/);
      expect(await service.service.stores.ledger.since(0, 1000)).to.have.length(before.length);
    });
  }

  it("keep nothing of a DELETE without a key or without its scope", async () => {
    const before = await service.service.stores.ledger.since(0, 1000);
    for (const key of [null, "em_nobody_0123456789abcdef0123456789abcdef"]) {
      const response = await service.fetch("/api/entity/user/email/ann@example.org", { method: "DELETE", key });
      expect(response.status).to.equal(401);
      expect(response.headers.get("cache-control")).to.equal("no-store");
    }
    expect(await service.service.stores.ledger.since(0, 1000)).to.have.length(before.length);
  });

  it("take one person's identity in another form for the same", async () => {
    const forms = ["Zoe%CC%88@Example.org", "%20ZO%C3%8B@example.org%20", "zo%C3%AB@example.org"];
    const sequence = (await service.service.stores.ledger.since(0, 1000)).length;
    for (const form of forms) await remove(`user/email/${form}`);
    const kept = (await service.service.stores.ledger.since(0, 1000)).slice(sequence);
    expect(new Set(kept.map(({ deletion }) => deletion.identity)).size).to.equal(1);
  });

  it("P22: answer the same bytes but the id for every identity, known or not, the first time and again", async () => {
    const collected = await service.fetch("/collect/json/web?table=user", {
      method: "POST",
      json: { email: "known@example.org", user_id: "known-1", plan: "gold" },
    });
    expect(collected.status).to.equal(200);
    const answers: string[] = [];
    const headers: object[] = [];
    for (const path of [
      "email/known@example.org",
      "email/nobody@example.org",
      "email/known@example.org",
      "user_id/known-1",
    ]) {
      const response = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
      answers.push((await response.text()).replace(/[0-9a-f]{20}-[0-9]+/, "ID"));
      const { "x-request-id": _, date: __, ...rest } = Object.fromEntries(response.headers);
      headers.push(rest);
    }
    expect(new Set(answers).size).to.equal(1);
    for (const other of headers) expect(other).to.deep.equal(headers[0]);
  });
});

describe("the list of open deletions", () => {
  let service: TestService;

  before(async () => {
    service = await startService({
      deletions: { targets: [{ name: "crm", url: "http://127.0.0.1:9/hooks", token: "secret" }] },
    });
  });
  after(() => service.stop());

  interface Listed {
    data: {
      request_id: string;
      stage: string;
      attempts: number;
      stuck: boolean;
      problem: string | null;
      accepted_at: string;
      next_try_at: string | null;
      targets?: { name: string; erased_at: string | null; verified_at: string | null }[];
    }[];
    meta: { next: string | null };
  }
  const list = async (query: string) => {
    const response = await service.fetch(`/api/deletion${query}`);
    expect(response.status).to.equal(200);
    return (await response.json()) as Listed;
  };
  const one = async (id: string) => {
    const response = await service.fetch(`/api/deletion/${id}`);
    expect(response.status).to.equal(200);
    return ((await response.json()) as { data: Listed["data"][0] }).data;
  };
  const erase = async (name: string) => {
    const response = await service.fetch(`/api/entity/user/email/${name}@example.org`, { method: "DELETE" });
    return ((await response.json()) as { data: { request_id: string } }).data.request_id;
  };
  const isoMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

  it("says since when each request is open, what it waits for and why, and not whom it is about", async () => {
    const ids: string[] = [];
    for (const name of ["ann", "ben", "cleo"]) ids.unshift(await erase(name));
    await until("they are stuck", async () => (await list("")).data.every(({ stuck }) => stuck));
    const { data, meta } = await list("?completed=false");
    expect(data.map(({ request_id }) => request_id)).to.deep.equal(ids);
    expect(meta.next).to.equal(null);
    for (const item of data) {
      expect(item).to.have.all.keys(
        "request_id",
        "accepted_at",
        "cut_off",
        "completed_at",
        "stage",
        "attempts",
        "stuck",
        "problem",
        "next_try_at",
      );
      expect(item).to.include({ stage: "crm", stuck: true, problem: "crm cannot be reached", completed_at: null });
      expect(item.attempts).to.be.at.least(3);
      expect(item.accepted_at).to.match(isoMs);
      expect(item.next_try_at).to.match(isoMs);
    }
    expect(JSON.stringify(data)).to.not.match(/ann@|example/);
    const first = await list("?limit=2");
    expect(first.data.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(0, 2));
    const rest = await list(`?limit=2&after=${first.meta.next}`);
    expect(rest.data.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(2));
    expect((await list("?state=completed")).data).to.deep.equal([]);
    expect((await list("?state=all")).data).to.have.length(3);
    expect((await list(`?after=${"0".repeat(20)}-1`)).data).to.deep.equal([]);
  });

  it("says of one request what each target has done", async () => {
    const [first] = (await list("")).data;
    const { targets = [], ...item } = await one(first?.request_id ?? "");
    expect(item).to.include({ request_id: first?.request_id, stage: "crm" });
    expect(targets.map(({ name }) => name)).to.deep.equal([...ownTargets, "crm"]);
    for (const own of targets.slice(0, -1)) expect(own.erased_at).to.match(isoMs);
    expect(targets.at(-1)).to.deep.equal({ name: "crm", erased_at: null, verified_at: null });
    for (const id of ["x", `${"0".repeat(20)}-1`, "%00"]) {
      const { status } = await service.fetch(`/api/deletion/${id}`);
      expect(status, id).to.equal(id === "%00" ? 400 : 404);
    }
  });

  it("tries a request again at once when asked to", async () => {
    const [first] = (await list("")).data;
    const id = first?.request_id ?? "";
    const before = (await one(id)).attempts;
    const response = await service.fetch(`/api/deletion/${id}/retry`, { method: "POST" });
    expect(response.status).to.equal(200);
    expect(((await response.json()) as { data: object }).data).to.include({ request_id: id, completed_at: null });
    await until("it was tried", async () => (await one(id)).attempts > before);
    expect((await service.fetch(`/api/deletion/${"0".repeat(20)}-1/retry`, { method: "POST" })).status).to.equal(404);
  });

  for (const query of [
    "completed=true",
    "completed=FALSE",
    "completed=false&completed=false",
    "limit=0",
    "limit=1001",
    "after=x",
    "state=",
    "state=OPEN",
    "state=open&state=open",
  ]) {
    it(`is refused for ${query}`, async () => {
      const response = await service.fetch(`/api/deletion?${query}`);
      expect(response.status).to.equal(400);
    });
  }
});

describe("deletions that are completed", () => {
  it("are listed with the times of their targets, and are not tried again", async () => {
    const service = await startService();
    try {
      await service.fetch("/collect/json/web", { method: "POST", json: { email: "ann@example.org", segments: ["a"] } });
      const removed = await service.fetch("/api/entity/user/email/ann@example.org", { method: "DELETE" });
      const { request_id } = ((await removed.json()) as { data: { request_id: string } }).data;
      const completed = async () =>
        ((await (await service.fetch("/api/deletion?state=completed")).json()) as { data: { request_id: string }[] })
          .data;
      await until("it is completed", async () => (await completed()).length > 0);
      expect(await completed()).to.have.length(1);
      const { data } = (await (await service.fetch(`/api/deletion/${request_id}`)).json()) as {
        data: Record<string, string> & { targets: { erased_at: string; verified_at: string }[] };
      };
      expect(data).to.include({ request_id, stage: "complete", stuck: false, problem: null, next_try_at: null });
      for (const { erased_at, verified_at } of data.targets) {
        expect(erased_at >= (data.accepted_at ?? "")).to.equal(true);
        expect(verified_at >= erased_at && verified_at <= (data.completed_at ?? "")).to.equal(true);
      }
      expect(data.targets).to.have.length(ownTargets.length);
      const retry = await service.fetch(`/api/deletion/${request_id}/retry`, { method: "POST" });
      expect(retry.status).to.equal(409);
    } finally {
      await service.stop();
    }
  });
});

describe("a DELETE whose caller has gone before it is accepted", () => {
  it("is run at once all the same: its hint is given", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const caller = await openSocket((server.address() as AddressInfo).port);
    caller.write("DELETE /api/entity/user/email/a@example.org HTTP/1.1\r\nHost: a\r\n\r\n");
    const [, res] = (await once(server, "request")) as [unknown, ServerResponse];
    const hinted: string[] = [];
    const routes = deletionRoutes({
      tables: shippedTables,
      identityBytes: 1024,
      failpoint: noFailpoint,
      async requestDeletion() {
        const gone = once(res, "close");
        caller.destroy();
        await gone;
        return "a request";
      },
      hint: (id: string) => void hinted.push(id),
    } as unknown as DeletionRouteParts);
    const params = { table: "user", fieldname: "email", fieldval: "a@example.org" };
    const state = { deadline: { signal: new AbortController().signal } };
    const request = { ctx: { res, state }, params, query: {}, body: undefined } as unknown as Asked;
    await routes.find(({ method }) => method === "DELETE")?.handler(request);
    server.close();
    expect(hinted).to.deep.equal(["a request"]);
  });
});
