import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";

interface Item {
  readonly id: string;
  readonly segments: readonly string[];
}

interface Answer<Data> {
  readonly status: number;
  readonly message: string;
  readonly data: Data;
  readonly meta: { readonly next: string | null };
  readonly errors: readonly { readonly code: string; readonly path: string; readonly message: string }[];
}

describe("The catalogue", () => {
  const service = serviceOfSuite();
  before(async () => {
    for (const id of ["seen", "bought"]) await data("PUT", `/api/segment/${id}`, {});
  });

  const ask = async (method: string, path: string, json?: unknown) => {
    const response = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
    return { status: response.status, body: (await response.json()) as Answer<Item> };
  };
  const data = async (method: string, path: string, json?: unknown) => {
    const { status, body } = await ask(method, path, json);
    expect(body).to.include({ status: 200, message: "success" });
    expect(status).to.equal(200);
    return body.data;
  };
  const refusal = async (method: string, path: string, json?: unknown) => {
    const { status, body } = await ask(method, path, json);
    expect(body.data).to.equal(null);
    expect(body.status).to.equal(status);
    return { status, code: body.errors[0]?.code, path: body.errors[0]?.path };
  };
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
    const point = {
      dimension: "segment",
      dimension_id: "gone",
      dimension_type: "size",
      value: 5,
      ts: Date.now() - 86_400_000,
    };
    await data("POST", "/api/metric/points", [point]);
    await data("DELETE", "/api/segment/gone");

    expect((await data("GET", "/api/entity/user/user_id/gone-1")).segments).to.deep.equal(["stays"]);
    const query = "dimension=segment&dimension_id=gone&dimension_type=size&range=3d";
    const answer = (await service.fetch(`/api/metric?${query}`)).json() as Promise<
      Answer<[{ values: { value: number }[] }]>
    >;
    expect((await answer).data[0].values.map(({ value }) => value)).to.include(5);
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
