import { expect } from "chai";
import { type CatalogueAnswer, type CatalogueItem, catalogueOf } from "../support/catalogue-calls.js";
import { serviceOfSuite, startService, type TestService } from "../support/service.js";

describe("the catalogue", () => {
  const service = serviceOfSuite();

  const { ask, data, refusal } = catalogueOf(service);

  it("forbids caches to store its responses", async () => {
    await data("PUT", "/api/segment/kept", {});
    for (const path of ["/api/segment", "/api/segment/sizes", "/api/segment/kept", "/api/experience"]) {
      const response = await service.fetch(path);
      await response.arrayBuffer();
      expect(response.status, path).to.equal(200);
      expect(response.headers.get("Cache-Control"), path).to.equal("no-store");
    }
    await data("DELETE", "/api/segment/kept");
  });

  for (const id of ["a/b", "a b+c%", "ä🙂", "x?y#z", "'; DROP TABLE segment; --", "__proto__", "x".repeat(256)]) {
    it(`accepts ${JSON.stringify(id.slice(0, 30))} as the id of a segment`, async () => {
      const path = `/api/segment/${encodeURIComponent(id)}`;
      expect(await data("PUT", path, { name: "Odd" })).to.include({ id, name: "Odd" });
      expect(await data("GET", path)).to.include({ id, name: "Odd" });
      expect(await data("DELETE", path)).to.deep.equal({ id });
      expect(await refusal("GET", path)).to.include({ status: 404 });
    });
  }

  it("refuses to list the segments of an unknown table", async () => {
    for (const table of ["nothing", ""])
      expect(await refusal("GET", `/api/segment?table=${table}`)).to.include({ status: 400, code: "unknown_table" });
  });

  const unknownTable = "There is no such table; the tables are user, account, company, content, product, url";
  const refusals: [path: string, body: unknown, code: string, field: string, message?: string][] = [
    ["segment/refused", [], "not_an_object", "", "The body must be a JSON object"],
    ["segment/refused", "x", "not_an_object", ""],
    ["segment/refused", null, "not_an_object", ""],
    ["segment/refused", { tabel: 1 }, "unknown_field", "", "Unknown field; the nearest known one is table"],
    ["segment/refused", { name: 1 }, "invalid_type", "name", "name must be string"],
    ["segment/refused", { name: "" }, "invalid_value", "name"],
    ["segment/refused", { name: "x".repeat(257) }, "invalid_value", "name"],
    ["segment/refused", { name: "a\u0000b" }, "invalid_value", "name"],
    ["segment/refused", { table: "nobody" }, "unknown_table", "table", unknownTable],
    ["segment/refused", { table: ["user"] }, "invalid_type", "table"],
    [
      "segment/all_segments",
      {},
      "reserved_id",
      "id",
      "The id of a segment cannot be sizes, preview, all_segments or all_streams",
    ],
    ["segment/ends%20in%20%5C", {}, "invalid_id", "id"],
    [`segment/${"x".repeat(257)}`, {}, "invalid_id", "id"],
    ["experience/refused", { goal: "bought" }, "required", "audience", "audience is required"],
    ["experience/refused", { audience: "seen", goal: null }, "required", "goal"],
    ["experience/refused", { audience: "no", goal: "bought" }, "unknown_segment", "audience"],
    ["experience/refused", { audience: "seen", goal: "no" }, "unknown_segment", "goal"],
    ["experience/refused", { audience: "seen", goal: ["bought"] }, "invalid_type", "goal"],
    ["experience/refused", { audience: "seen", goal: "bought", group: "a\\" }, "invalid_value", "group"],
    ["experience/refused", { audience: "seen", goal: "bought", group: "" }, "invalid_value", "group"],
    ["experience/refused", { audiense: "seen" }, "unknown_field", ""],
  ];
  for (const [path, body, code, field, message] of refusals) {
    it(`refuses /api/${path.slice(0, 30)} with ${JSON.stringify(body).slice(0, 60)}: ${code}, and stores nothing`, async () => {
      for (const id of ["seen", "bought"]) await data("PUT", `/api/segment/${id}`, {});
      const answer = await ask("PUT", `/api/${path}`, body);
      const [issue] = answer.body.errors;
      expect([answer.status, issue?.code, issue?.path]).to.deep.equal([400, code, field]);
      if (message !== undefined) expect(issue?.message).to.equal(message);
      expect(await refusal("GET", `/api/${path}`)).to.include({ status: 404 });
    });
  }

  it("explains the refusal of a value in a list, and of a number that is not whole", async () => {
    for (const [body, message] of [
      [{ fields: ["a", 1] }, "A value in fields must be string"],
      [{ limit: 1.5 }, "limit must be integer"],
    ] as const)
      expect((await ask("POST", "/api/segment/members/members", body)).body.errors[0]?.message).to.equal(message);
  });

  it("accepts a segment name of 256 characters", async () => {
    const name = "🙂".repeat(256);
    expect(await data("PUT", "/api/segment/long", { name })).to.include({ name });
  });

  describe("of 250 segments", () => {
    let listed: TestService;
    const list = async (path: string) => (await (await listed.fetch(path)).json()) as CatalogueAnswer<CatalogueItem[]>;
    before(async () => {
      listed = await startService();
      const segments = Array.from({ length: 250 }, (_, index) => `s${String(index).padStart(3, "0")}`);
      for (const id of segments) {
        await listed.service.stores.catalogue.putSegment({ id, name: `${id}!`, table: "user" });
      }
      for (const id of ["b", "a"]) {
        await listed.fetch(`/api/experience/${id}`, { method: "PUT", json: { audience: "s000", goal: "s001" } });
      }
    });
    after(() => listed.stop());

    it("returns the sizes of all segments in one response", async () => {
      const { data, meta } = await list("/api/segment/sizes");
      expect(data).to.have.length(250);
      expect(data[7]).to.deep.equal({ id: "s007", name: "s007!", size: 0 });
      expect(meta).to.deep.equal({ next: null });
    });

    it("returns the sizes of requested segments in the order of their ids, also in pages", async () => {
      const { data, meta } = await list("/api/segment/sizes?ids=s009,s002,nothing,s002");
      expect(data).to.deep.equal([
        { id: "s002", name: "s002!", size: 0 },
        { id: "s009", name: "s009!", size: 0 },
      ]);
      expect(meta).to.deep.equal({ next: null });
      const page = await list("/api/segment/sizes?ids=s009,s002,s005&limit=1&after=s002");
      expect([page.data.map(({ id }) => id), page.meta]).to.deep.equal([["s005"], { next: "s005" }]);
      expect((await list("/api/segment/sizes?ids=nothing")).data).to.deep.equal([]);
      for (const ids of ["", ",", "s001,", "a%0a"]) {
        const response = await listed.fetch(`/api/segment/sizes?ids=${ids}`);
        expect(response.status, ids).to.equal(400);
      }
    });
  });
});
