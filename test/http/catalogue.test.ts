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

  for (const { id, code } of [
    { id: "all_segments", code: "reserved_id" },
    { id: encodeURIComponent("ends in \\"), code: "invalid_id" },
    { id: "x".repeat(257), code: "invalid_id" },
  ]) {
    it(`refuses ${id.slice(0, 20)} as the id of a segment`, async () => {
      expect(await refusal("PUT", `/api/segment/${id}`, {})).to.deep.equal({ status: 400, code, path: "id" });
    });
  }

  it("refuses to list the segments of an unknown table", async () => {
    for (const table of ["nothing", ""])
      expect(await refusal("GET", `/api/segment?table=${table}`)).to.include({ status: 400, code: "unknown_table" });
  });

  for (const { what, body, code, path } of [
    { what: "an array", body: [], code: "not_an_object", path: "" },
    { what: "a string", body: "x", code: "not_an_object", path: "" },
    { what: "null", body: null, code: "not_an_object", path: "" },
    { what: "an unknown field", body: { nmae: "x" }, code: "unknown_field", path: "" },
    { what: "a name that is a number", body: { name: 1 }, code: "invalid_type", path: "name" },
    { what: "an empty name", body: { name: "" }, code: "invalid_value", path: "name" },
    { what: "a name of 257 characters", body: { name: "x".repeat(257) }, code: "invalid_value", path: "name" },
    { what: "a name with a control character", body: { name: "a\u0000b" }, code: "invalid_value", path: "name" },
    { what: "an unknown table", body: { table: "nobody" }, code: "unknown_table", path: "table" },
    { what: "a table that is an array", body: { table: ["user"] }, code: "invalid_type", path: "table" },
  ]) {
    it(`refuses a segment with the body or field of ${what}, and stores nothing`, async () => {
      expect(await refusal("PUT", "/api/segment/refused", body)).to.deep.equal({ status: 400, code, path });
      expect(await refusal("GET", "/api/segment/refused")).to.include({ status: 404 });
    });
  }

  for (const { path = "/api/segment/refused", method = "PUT", body, message } of [
    { body: [], message: "The body must be a JSON object" },
    { body: { tabel: "user" }, message: "Unknown field; the nearest known one is table" },
    { body: { name: 1 }, message: "name must be string" },
    {
      body: { table: "nobody" },
      message: "There is no such table; the tables are user, account, company, content, product, url",
    },
    {
      path: "/api/segment/all_segments",
      body: {},
      message: "The id of a segment cannot be sizes, all_segments or all_streams",
    },
    { path: "/api/experience/refused", body: {}, message: "audience is required" },
    {
      path: "/api/segment/members/members",
      method: "POST",
      body: { fields: ["a", 1] },
      message: "A value in fields must be string",
    },
    { path: "/api/segment/members/members", method: "POST", body: { limit: 1.5 }, message: "limit must be integer" },
  ]) {
    it(`explains the refusal of ${method} ${path} with ${JSON.stringify(body)}: ${message}`, async () => {
      const answer = await ask(method, path, body);
      expect(answer.body.errors[0]?.message).to.equal(message);
    });
  }

  it("accepts a segment name of 256 characters", async () => {
    const name = "🙂".repeat(256);
    expect(await data("PUT", "/api/segment/long", { name })).to.include({ name });
  });

  describe("of experiences", () => {
    before(async () => {
      for (const id of ["seen", "bought"]) await data("PUT", `/api/segment/${id}`, {});
    });
    const body = { name: "Banner", group: "spring", audience: "seen", goal: "bought" };

    for (const { what, change, code, path } of [
      { what: "without an audience", change: { audience: undefined }, code: "required", path: "audience" },
      { what: "whose goal is null", change: { goal: null }, code: "required", path: "goal" },
      {
        what: "whose audience is not in the catalogue",
        change: { audience: "no" },
        code: "unknown_segment",
        path: "audience",
      },
      { what: "whose goal is not in the catalogue", change: { goal: "no" }, code: "unknown_segment", path: "goal" },
      { what: "whose goal is an array", change: { goal: ["bought"] }, code: "invalid_type", path: "goal" },
      { what: "whose group ends in a backslash", change: { group: "a\\" }, code: "invalid_value", path: "group" },
      { what: "whose group is empty", change: { group: "" }, code: "invalid_value", path: "group" },
      { what: "with an unknown field", change: { audiense: "seen" }, code: "unknown_field", path: "" },
    ]) {
      it(`refuses one ${what}, and stores nothing`, async () => {
        expect(await refusal("PUT", "/api/experience/refused", { ...body, ...change })).to.deep.equal({
          status: 400,
          code,
          path,
        });
        expect(await refusal("GET", "/api/experience/refused")).to.include({ status: 404 });
      });
    }
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
