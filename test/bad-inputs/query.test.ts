import { expect } from "chai";
import type { Route } from "../../src/http/core/route.js";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { expectedRoutes } from "../support/route-table.js";
import { serviceOfSuite, startService } from "../support/service.js";

describe("an invalid query", () => {
  const service = serviceOfSuite();
  afterEach(() => expectAlive(service));

  const target = ({ path }: Route) => path.replaceAll(/:\w+/g, "x");
  const codesOf = async (route: Route, query: string): Promise<string[]> => {
    const response = await service.fetch(`${target(route)}?${query}`, { method: route.method });
    const text = await response.text();
    expect(text).to.not.include(canary);
    if (response.status !== 400) return [];
    return (JSON.parse(text) as { errors: { code: string }[] }).errors.map(({ code }) => code);
  };

  it("of 33 parameters or with a repeated one is refused with 400 on every route except /dashboard", async () => {
    const many = Array.from({ length: 33 }, (_, i) => `p${i}=${canary}`).join("&");
    for (const route of service.service.routes.filter(({ path }) => path !== "/dashboard")) {
      const name = `${route.method} ${route.path}`;
      expect(await codesOf(route, many), name).to.deep.equal(["too_many_parameters"]);
      for (const twice of [`key=${canary}&key=${canary}`, `${canary}=1&${canary}=1`, `${canary}=1&zqcanar%79qz=1`]) {
        const [code] = await codesOf(route, twice);
        expect(code, `${name}?${twice}`).to.be.oneOf(["duplicate", "unknown_parameter"]);
      }
    }
    await refused(service, `/health?a=1&a=1`, { key: null }, 400);
  });

  it("with an unknown parameter is refused with 400 on routes whose parameters change the response or data", async () => {
    const ignoring: string[] = [];
    for (const route of service.service.routes) {
      const codes = await codesOf(route, `${canary}=1`);
      if (!codes.includes("unknown_parameter")) ignoring.push(`${route.method} ${route.path}`);
      expect(await codesOf(route, `key=${canary}`), route.path).to.not.include("unknown_parameter");
    }
    const open = [...expectedRoutes].flatMap(([name, { isOpen }]) => (isOpen ? name : []));
    expect(ignoring.sort()).to.deep.equal(open.sort());
  });

  const misspelt: [string, string, string][] = [
    ["GET", "/api/metric?intervall=1d", "interval"],
    ["POST", "/collect/json/web?timestampfield=at", "timestamp_field"],
    ["POST", "/api/v2/write?precison=s", "precision"],
    ["GET", "/api/segment?limits=5", "limit"],
    ["GET", "/api/deletion?stat=open", "state"],
  ];
  const far: [string, string, string][] = [
    ["GET", "/api/stream?zzzzqq=1", "after, limit, q, sort, order, id, range, startdate, enddate"],
    ["POST", "/api/v2/write?zzzzqq=1", "precision"],
  ];
  for (const [method, path, hint] of [
    ...misspelt.map(([method, path, name]) => [method, path, `the nearest known one is ${name}`] as const),
    ...far.map(([method, path, names]) => [method, path, `the known ones are ${names}`] as const),
  ]) {
    it(`(${path}) is refused with a hint: ${hint}`, async () => {
      const response = await service.fetch(path, { method });
      const { errors } = (await response.json()) as { errors: { code: string; message: string }[] };
      expect(response.status).to.equal(400);
      expect(errors[0]?.code).to.equal("unknown_parameter");
      expect(errors[0]?.message).to.contain(hint);
    });
  }

  it("has a repeated key, also if key_in_query allows a key in the query", async () => {
    const other = await startService({ http: { key_in_query: true } });
    const get = (query: string) => other.fetch(`/api/segment?${query}`, { key: null });
    expect((await get(`key=${other.key}&limit=5`)).status).to.equal(200);
    expect((await get(`key=${other.key}&key=${other.key}`)).status).to.equal(400);
    expect((await get(`key=${other.key}&key=em_x_1`)).status).to.equal(400);
    expect((await get(`key=${other.key}&%6bey=em_x_1`)).status).to.equal(400);
    expect((await get(`key=${other.key}&limit=5&after=a`)).status).to.equal(200);
  });
});
