import { expect } from "chai";
import type { Route } from "../../src/http/core/route.js";
import { type Scope, scopes } from "../../src/keys/api-key.js";
import { rawRequest } from "../support/raw-request.js";
import { expectedRoutes } from "../support/route-table.js";
import { newKey, serviceOfSuite } from "../support/service.js";

describe("the routes", () => {
  const keys = new Map<Scope, string>();
  let routes: readonly Route[];

  const service = serviceOfSuite({}, { wrongKeysPerMinute: 100_000 });
  before(async () => {
    routes = service.service.routes;
    for (const scope of scopes) {
      keys.set(scope, (await newKey(service, [scope])).key);
    }
  });

  const target = ({ path }: Route) => path.replaceAll(/:\w+/g, "x");

  it("are exactly the expected ones, with their scopes", () => {
    const served = routes.map(({ method, path, scopes }) => [`${method} ${path}`, scopes]);
    const expected = Array.from(expectedRoutes, ([name, { scopes }]) => [name, scopes]);
    expect(served.sort()).to.deep.equal(expected.sort());
  });

  it("accept a key with one of their scopes, and no other key", async () => {
    for (const route of routes) {
      if (route.scopes === "keyless") continue;
      for (const [scope, key] of keys) {
        const { status } = await service.fetch(target(route), { method: route.method, key });
        const name = `${route.method} ${route.path} with ${scope}`;
        if (route.scopes.includes(scope) && route.alsoScope === undefined)
          expect(status, name).to.not.be.oneOf([401, 403, 405]);
        else expect(status, name).to.equal(403);
      }
    }
  });

  it("accept a key with both scopes if they need two", async () => {
    const both = routes.filter(({ alsoScope }) => alsoScope !== undefined);
    expect(both).to.not.deep.equal([]);
    for (const { path, method, scopes, alsoScope } of both) {
      const { key } = await newKey(service, [...(scopes as Scope[]), alsoScope as Scope]);
      const { status } = await service.fetch(path.replaceAll(/:\w+/g, "x"), { method, key });
      expect(status, path).to.not.be.oneOf([401, 403, 405]);
    }
  });

  it("refuse a request without a key unless they are keyless", async () => {
    for (const route of routes) {
      const response = await service.fetch(target(route), { method: route.method, key: null });
      await response.arrayBuffer();
      const name = `${route.method} ${route.path}`;
      if (route.scopes === "keyless") expect(response.status, name).to.not.be.oneOf([401, 403]);
      else expect(response.status, name).to.equal(401);
    }
  });

  it("answer HEAD like GET, without a body", async () => {
    for (const route of routes.filter(({ method }) => method === "GET")) {
      const response = await service.fetch(target(route), { method: "HEAD" });
      expect(response.status, route.path).to.not.equal(405);
      expect(await response.text(), route.path).to.equal("");
    }
  });

  it("list their methods in the response to OPTIONS and to an unknown method", async () => {
    const options = await service.fetch("/api/metric", { method: "OPTIONS", key: null });
    expect(options.status).to.equal(204);
    expect(options.headers.get("allow")).to.equal("GET, HEAD, POST, OPTIONS");
    for (const method of ["PUT", "PATCH", "DELETE", "PROPFIND"]) {
      const response = await service.fetch("/api/metric", { method });
      expect(response.status, method).to.equal(405);
      expect(response.headers.get("allow"), method).to.equal("GET, HEAD, POST, OPTIONS");
      expect(await response.json()).to.include({ status: 405, message: "This route allows GET, HEAD, POST, OPTIONS" });
    }
  });

  const named: [string, string, number, string | null][] = [
    ["POST", "/api/segment/sizes", 405, "GET, HEAD, PUT, DELETE, OPTIONS"],
    ["DELETE", "/api/segment/%73izes", 404, null],
    ["GET", "/api/segment/%73ize%25", 404, null],
    ["DELETE", "/api/entity/deletestatus/a", 405, "GET, HEAD, OPTIONS"],
    ["DELETE", "/api/entity/%64eletestatus/a/b", 404, null],
  ];
  for (const [method, path, status, allow] of named) {
    it(`match a fixed name before a parameter: ${method} ${path} is ${status}`, async () => {
      const response = await service.fetch(path, { method });
      expect(response.status).to.equal(status);
      expect(response.headers.get("allow")).to.equal(allow);
    });
  }

  const identity = { table: "user", field: "_uid", value: "zqcanaryqz" };
  for (const [method, path, what, json] of [
    ["GET", "/api/zqcanaryqz", "There is no such route"],
    ["GET", "/api/metric/", "There is no such route"],
    ["GET", "/docs/zqcanaryqz", "There is no such file"],
    ["GET", "/api/segment/zqcanaryqz", "There is no such segment"],
    ["DELETE", "/api/segment/zqcanaryqz", "There is no such segment"],
    ["POST", "/api/segment/zqcanaryqz/members", "There is no such segment", {}],
    ["GET", "/api/experience/zqcanaryqz", "There is no such experience"],
    ["DELETE", "/api/experience/zqcanaryqz", "There is no such experience"],
    ["GET", "/api/deletion/zqcanaryqz", "There is no such deletion request"],
    ["GET", "/api/entity/deletestatus/zqcanaryqz", "There is no such deletion request"],
    ["GET", "/api/entity/user/zqcanaryqz", "There is no such entity"],
    ["GET", "/api/entity/user/_uid/zqcanaryqz/segments", "There is no such entity"],
    ["POST", "/api/entity/export", "There is no such entity", identity],
    ["POST", "/api/deletion/preview", "There is no such entity", identity],
    [
      "GET",
      "/api/entity/zqcanaryqz/_uid/a",
      "There is no such table; the tables are user, account, company, content, product, url",
    ],
  ] as const) {
    it(`report what was not found: ${method} ${path} is "${what}"`, async () => {
      const response = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
      const text = await response.text();
      expect(response.status, text).to.equal(404);
      expect(text).to.not.contain("zqcanaryqz");
      const { message, errors } = JSON.parse(text) as { message: string; errors: { message: string }[] };
      expect([message, errors.map((error) => error.message)]).to.deep.equal(["Not Found", [what]]);
    });
  }

  it("accept an absolute request target", async () => {
    const answer = await rawRequest(service.port, "GET http://a/health?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(answer.status).to.equal(200);
  });

  it("list all methods in the response to OPTIONS *", async () => {
    const answer = await rawRequest(service.port, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(answer.status).to.equal(204);
    expect(answer.headers.get("allow")).to.equal("GET, HEAD, PUT, POST, DELETE, OPTIONS");
  });

  for (const target of ["*", "http://a", "http://?x", "ftp://a/health"]) {
    it(`refuse the request target ${target} with 400`, async () => {
      const answer = await rawRequest(service.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect(answer.status).to.equal(400);
      expect(answer.body?.errors).to.have.nested.property("[0].code", "invalid_target");
    });
  }
});
