import { expect } from "chai";
import { catalogueOf } from "../support/catalogue-calls.js";
import { pointOf, valuesOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("The catalogue", () => {
  const service = serviceOfSuite();
  before(async () => {
    for (const id of ["seen", "bought"]) await data("PUT", `/api/segment/${id}`, {});
  });

  const { data, refusal } = catalogueOf(service);
  const collect = (messages: object[]) => data("POST", "/collect/json/visits", messages);

  it("A segment has a size; its name is its id and its table is user unless the request contains others", async () => {
    expect(await data("PUT", "/api/segment/plain", {})).to.deep.equal({
      id: "plain",
      name: "plain",
      table: "user",
      size: 0,
    });
    expect(await data("PUT", "/api/segment/firms", { name: "Firms", table: "company" })).to.deep.equal({
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

  it("A segment that a message names first is registered, with its size", async () => {
    await collect([{ user_id: "first", segments: ["met first"] }]);
    expect(await data("GET", "/api/segment/met%20first")).to.deep.equal({
      id: "met first",
      name: "met first",
      table: "user",
      size: 1,
    });
  });

  const body = { name: "Banner", group: "spring", audience: "seen", goal: "bought" };

  it("keeps experiences with their group, or none", async () => {
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

  it("holds the segments that experiences name", async () => {
    await data("PUT", "/api/experience/holding", body);
    await data("DELETE", "/api/experience/banner");
    expect(await refusal("DELETE", "/api/segment/bought")).to.include({ status: 409 });
    expect(await data("GET", "/api/segment/bought")).to.include({ id: "bought" });
    await data("DELETE", "/api/experience/holding");
    expect(await data("DELETE", "/api/segment/bought")).to.deep.equal({ id: "bought" });
  });
});
