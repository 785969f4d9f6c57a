import { expect } from "chai";
import { catalogueOf } from "../support/catalogue-calls.js";
import { pointOf, valuesOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("the catalogue", () => {
  const service = serviceOfSuite();
  before(async () => {
    for (const id of ["seen", "bought"]) await data("PUT", `/api/segment/${id}`, {});
  });

  const { ask, data, refusal } = catalogueOf(service);
  const collect = (messages: object[]) => data("POST", "/collect/json/visits", messages);

  it("stores a segment with its size, and by default with its id as name and user as table", async () => {
    const pushed = { by_rule: false, computing: null };
    expect(await data("PUT", "/api/segment/plain", {})).to.deep.equal({
      ...pushed,
      id: "plain",
      name: "plain",
      table: "user",
      size: 0,
    });
    expect(await data("PUT", "/api/segment/firms", { name: "Firms", table: "company" })).to.deep.equal({
      ...pushed,
      id: "firms",
      name: "Firms",
      table: "company",
      size: 0,
    });
    expect(await data("PUT", "/api/segment/firms", { name: null, table: null })).to.include({
      name: "firms",
      table: "user",
    });
    await collect([
      { user_id: "1", segments: ["plain"] },
      { user_id: "2", segments: { add: ["plain"] } },
    ]);
    expect(await data("GET", "/api/segment/plain")).to.deep.equal({
      ...pushed,
      id: "plain",
      name: "plain",
      table: "user",
      size: 2,
    });
    expect(await data("PUT", "/api/segment/plain", { name: "Plain" })).to.include({ name: "Plain", size: 2 });
  });

  it("removes the memberships of a deleted segment and keeps its series", async () => {
    await data("PUT", "/api/segment/gone", {});
    await collect([{ user_id: "gone-1", segments: ["gone", "stays"] }]);
    await writePoints(service, [pointOf("segment", "gone", 5, Date.now() - 86_400_000)]);
    await data("DELETE", "/api/segment/gone");

    expect((await data("GET", "/api/entity/user/user_id/gone-1")).segments).to.deep.equal(["stays"]);
    const values = await valuesOf(service, { dimension: "segment", dimension_id: "gone", range: "3d" });
    expect(values.map(([, value]) => value)).to.include(5);
    expect(await data("PUT", "/api/segment/gone", {})).to.include({ size: 0 });
  });

  const body = { name: "Banner", group: "spring", audience: "seen", goal: "bought" };

  it("stores experiences with their group, or none", async () => {
    expect(await data("PUT", "/api/experience/banner", body)).to.deep.equal({ id: "banner", ...body });
    expect(await data("GET", "/api/experience/banner")).to.deep.equal({ id: "banner", ...body });
    const bare = { audience: "seen", goal: "seen" };
    expect(await data("PUT", "/api/experience/bare", { ...bare, group: null })).to.deep.equal({
      id: "bare",
      name: "bare",
      group: null,
      ...bare,
    });
    expect(await data("DELETE", "/api/experience/bare")).to.deep.equal({ id: "bare" });
    expect(await refusal("DELETE", "/api/experience/bare")).to.include({ status: 404 });
    expect(await refusal("GET", "/api/experience/bare")).to.include({ status: 404 });
  });

  it("refuses to delete a segment that an experience uses", async () => {
    await data("PUT", "/api/experience/holding", body);
    await data("DELETE", "/api/experience/banner");
    expect(await refusal("DELETE", "/api/segment/bought")).to.include({ status: 409 });
    expect(await data("GET", "/api/segment/bought")).to.include({ id: "bought" });
    await data("DELETE", "/api/experience/holding");
    expect(await data("DELETE", "/api/segment/bought")).to.deep.equal({ id: "bought" });
  });

  it("stores marks, lists them by window and series, deletes them, and refuses invalid ones", async () => {
    const ts = "2025-01-02T00:00:00Z";
    const at = String(Date.parse(ts));
    const release = { id: "release/2", ts: at, text: "Release 2" };
    for (const written of [Number(at), Number(at) / 1000, ts])
      expect(await data("PUT", "/api/mark/release%2F2", { ts: written, text: "Release 2" })).to.deep.equal(release);
    const sale = { id: "sale", ts: String(Number(at) + 1), text: "Sale", dimension: "segment", dimension_id: "seen" };
    const { id, ...input } = sale;
    expect(await data("PUT", `/api/mark/${id}`, { ...input, dimension: "segsize" })).to.deep.equal(sale);
    expect(await data("GET", "/api/mark/sale")).to.deep.equal(sale);
    for (const [query, found] of [
      ["", [release, sale]],
      [`?startdate=${sale.ts}`, [sale]],
      [`?enddate=${sale.ts}&limit=1`, [release]],
      ["?dimension=segsize&dimension_id=seen", [sale]],
      ["?dimension=stream", []],
      ["?after=release/2", [sale]],
      ["?enddate=now-1m&startdate=2025-01-02", [release, sale]],
    ] as const) {
      expect(await data("GET", `/api/mark${query}`), query).to.deep.equal(found);
    }
    for (const [method, path, json, code] of [
      ["PUT", "/api/mark/a", { ts: "soon", text: "x" }, "invalid_date"],
      ["PUT", "/api/mark/a", { ts: 17, text: "x" }, "invalid_date"],
      ["PUT", "/api/mark/a", { ts, text: "x", dimension_id: "seen" }, "required"],
      ["PUT", "/api/mark/a", { ts, text: "x", dimension: "stream", dimension_id: "a\\" }, "invalid_dimension_id"],
      ["PUT", "/api/mark/a%5C", { ts, text: "x" }, "invalid_id"],
      ["GET", "/api/mark?startdate=soon", undefined, "invalid_date"],
      ["GET", "/api/mark?dimension=other", undefined, "unknown_dimension"],
    ] as const) {
      const { status, body } = await ask(method, path, json);
      expect([status, body.errors[0]?.code], path).to.deep.equal([400, code]);
    }
    for (const json of [{ ts }, { text: "x" }, { ts, text: "" }, { ts, text: "a\nb" }, { ts, text: "x".repeat(201) }])
      expect((await ask("PUT", "/api/mark/a", json)).status).to.be.oneOf([400, 422]);
    expect(await data("DELETE", "/api/mark/sale")).to.deep.equal({ id: "sale" });
    expect((await ask("DELETE", "/api/mark/sale")).status).to.equal(404);
    expect((await ask("GET", "/api/mark/sale")).status).to.equal(404);
  });
});
