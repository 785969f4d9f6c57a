import { expect } from "chai";
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

  it("says how old each request is, what it waits for and whether it is stuck, and not whom it is about", async () => {
    const ids: string[] = [];
    for (const name of ["ann", "ben", "cleo"]) {
      const response = await service.fetch(`/api/entity/user/email/${name}@example.org`, { method: "DELETE" });
      ids.push(((await response.json()) as { data: { request_id: string } }).data.request_id);
    }
    interface Listed {
      data: { request_id: string; age_seconds: number; stage: string; attempts: number; stuck: boolean }[];
      meta: { next: string | null };
    }
    const list = async (query: string) => {
      const response = await service.fetch(`/api/deletion?completed=false${query}`);
      expect(response.status).to.equal(200);
      return (await response.json()) as Listed;
    };
    await until("they are stuck", async () => (await list("")).data.every(({ stuck }) => stuck));
    const { data, meta } = await list("");
    expect(data.map(({ request_id }) => request_id)).to.deep.equal(ids);
    expect(meta.next).to.equal(null);
    for (const item of data) {
      expect(item).to.have.all.keys("request_id", "accepted_at", "age_seconds", "stage", "attempts", "stuck");
      expect(item).to.include({ stage: "crm", stuck: true });
      expect(item.attempts).to.be.at.least(3);
    }
    expect(JSON.stringify(data)).to.not.match(/ann|example/);
    const first = await list("&limit=2");
    expect(first.data.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(0, 2));
    const rest = await list(`&limit=2&after=${first.meta.next}`);
    expect(rest.data.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(2));
  });

  for (const query of [
    "completed=true",
    "completed=FALSE",
    "completed=false&completed=false",
    "limit=0",
    "limit=1001",
    "after=x",
  ]) {
    it(`is refused for ${query}`, async () => {
      const response = await service.fetch(`/api/deletion?${query}`);
      expect(response.status).to.equal(400);
    });
  }
});
