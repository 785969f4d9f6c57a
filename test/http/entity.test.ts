import { expect } from "chai";
import { collectThrough } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("a read of an entity", () => {
  const arrival = new Date(Date.UTC(2025, 5, 1, 12, 30)).toISOString();

  const service = serviceOfSuite({}, { clock: () => Date.parse(arrival) });
  before(async () => {
    await collectThrough(service, [
      {
        _uid: "u1",
        user_id: [7, "a/b c+d"],
        email: "Ann@x.org",
        name: "Ann",
        deep: { a: [1, null] },
        segments: ["s2", "s1"],
      },
      { _uid: "none-of-these", name: "Bob" },
    ]);
    await collectThrough(service, [{ account_id: "acme", domain: "x.org", plan: "gold" }], "web?table=account");
    await service.fetch("/api/segment/s1", { method: "PUT", json: { name: "Zebras" } });
  });

  async function get(path: string): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
    const answer = await service.fetch(path);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown>, headers: answer.headers };
  }

  const ann = {
    _uid: "u1",
    user_id: ["7", "a/b c+d"],
    email: "ann@x.org",
    name: "Ann",
    deep: { a: [1, null] },
    segments: ["Zebras", "s2"],
  };
  const times = { created_at: arrival, modified_at: arrival, streams: ["web"] };
  const meta = { by_fields: ["_uid", "user_id", "email"], format: "json", name: "user", ...times };

  for (const [what, path] of [
    ["by table, field and value", "/api/entity/user/_uid/u1"],
    ["by another identity", "/api/entity/user/user_id/7"],
    ["by a value in another form", "/api/entity/user/email/%20ANN@x.org"],
    ["by a value with a slash, a blank and a plus", "/api/entity/user/user_id/a%2Fb%20c+d"],
    ["by /api/me", "/api/me/email/ann@x.org"],
    ["by its value alone, in the default identity field", "/api/entity/user/u1"],
    ["with unknown query parameters", "/api/entity/user/u1?colour=red&fields="],
  ] as const) {
    it(`succeeds ${what}`, async () => {
      const { status, body } = await get(path);
      expect(body).to.deep.equal({ status: 200, message: "success", data: ann, meta });
      expect(status).to.equal(200);
    });
  }

  it("succeeds in every configured table", async () => {
    const { body } = await get("/api/entity/account/domain/x.org");
    expect(body).to.have.deep.property("data", { account_id: "acme", domain: "x.org", plan: "gold", segments: [] });
    expect(body).to.have.deep.property("meta", {
      by_fields: ["account_id", "domain"],
      format: "json",
      name: "account",
      ...times,
    });
    expect((await get("/api/entity/account/acme")).status).to.equal(200);
  });

  for (const [query, data] of [
    ["fields=name", { name: "Ann", segments: ann.segments }],
    [
      "fields=name,deep,nothing,__proto__,constructor,$where,a..b",
      { name: "Ann", deep: ann.deep, segments: ann.segments },
    ],
    ["fields=email&segments=false", { email: ann.email }],
    ["fields=segments", { segments: ann.segments }],
    ["segments=true&fields=nothing", { segments: ann.segments }],
  ] as const) {
    it(`returns only the fields of ${query}`, async () => {
      expect((await get(`/api/me/_uid/u1?${query}`)).body.data).to.deep.equal(data);
    });
  }

  it("returns no meta with meta=false", async () => {
    expect((await get("/api/me/_uid/u1?meta=false")).body).to.have.keys("status", "message", "data");
  });

  it("may not be cached, and answers HEAD without a body", async () => {
    for (const path of ["/api/me/_uid/u1", "/api/me/_uid/nobody", "/api/entity/user/deletestatus/x"]) {
      expect((await get(path)).headers.get("cache-control"), path).to.equal("no-store");
    }
    const head = await service.fetch("/api/me/_uid/u1", { method: "HEAD" });
    expect(head.status).to.equal(200);
    expect(await head.text()).to.equal("");
  });

  it("with download=true returns a file with a fixed name", async () => {
    const { status, headers } = await get("/api/entity/user/user_id/a%2Fb%20c+d?download=true");
    expect(status).to.equal(200);
    expect(headers.get("content-disposition")).to.equal('attachment; filename="user.json"');
    expect(headers.get("content-type")).to.match(/^application\/json/);
    expect((await get("/api/me/_uid/u1?download=false")).headers.get("content-disposition")).to.equal(null);
    const unknown = await get("/api/entity/user/user_id/..%2F%22?download=true");
    expect(unknown.status).to.equal(404);
    expect(unknown.headers.get("content-disposition")).to.equal(null);
  });

  for (const [what, path, status] of [
    ["an unknown value", "/api/entity/user/_uid/nobody", 404],
    ["a value of another field", "/api/entity/user/user_id/u1", 404],
    ["an e-mail address without @", "/api/entity/user/email/u1", 400],
    ["a value alone of another identity field", "/api/entity/user/7", 404],
    ["an id in other case", "/api/entity/user/_uid/U1", 404],
    ["an unknown table", "/api/entity/thing/_uid/u1", 404],
    ["an attribute in place of an identity", "/api/entity/user/name/Ann", 400],
    ["an empty value", "/api/entity/user/_uid/%20", 400],
  ] as const) {
    it(`by ${what} is answered with ${status}, and the error repeats nothing of the request`, async () => {
      const answer = await get(path);
      expect(answer.status).to.equal(status);
      expect(answer.body).to.include({ status, data: null });
      expect(answer.body.errors).to.be.an("array").with.length(1);
      expect(JSON.stringify(answer.body)).to.not.match(/u1|x{9}|Ann/);
    });
  }
});
