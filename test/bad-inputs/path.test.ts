import { expect } from "chai";
import { canary, expectAlive, head, refusedRaw } from "../support/bad-input.js";
import { rawRequest } from "../support/raw-request.js";
import { collectThrough } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("an invalid path", () => {
  const service = serviceOfSuite();
  before(async () => {
    const ids = ["a/b", "../x/..", "a%2Fb", "a+b", "ü"];
    await collectThrough(
      service,
      ids.map((id) => ({ user_id: id, mark: id })),
    );
  });
  afterEach(() => expectAlive(service));

  const places: [string, (value: string) => string, string][] = [
    ["an entity read", (value) => `/api/entity/user/user_id/${value}`, "GET"],
    ["a read by cookie", (value) => `/api/entity/user/${value}`, "GET"],
    ["a read of a user", (value) => `/api/me/user_id/${value}`, "GET"],
    ["a deletion", (value) => `/api/entity/user/user_id/${value}`, "DELETE"],
    ["a deletion's status", (value) => `/api/entity/deletestatus/${value}`, "GET"],
    ["a deletion's receipt", (value) => `/api/deletion/${value}/receipt`, "GET"],
    ["a segment", (value) => `/api/segment/${value}`, "GET"],
  ];
  const malformed = [
    "%",
    "%zz",
    "%1",
    "a%",
    "%C0%AE",
    "%c3",
    "%ff",
    "%ED%A0%80",
    "%F4%90%80%80",
    "%00",
    "%0d%0a",
    "%7f",
    "%C2%85",
    "%1b",
  ];
  for (const [place, path, method] of places) {
    it(`with malformed text is refused with 400 in ${place}`, async () => {
      for (const value of malformed) await refusedRaw(service, head(method, path(`${canary}${value}`), service), 400);
    });
  }

  for (const name of ["table", "fieldname"]) {
    it(`with malformed text as ${name} is refused with 400`, async () => {
      for (const value of malformed) {
        const path = name === "table" ? `/api/entity/${value}/user_id/a` : `/api/entity/user/${value}/a`;
        await refusedRaw(service, head("GET", path, service), 400);
      }
    });
  }

  const literal: [string, string][] = [
    ["a%2Fb", "a/b"],
    ["a%2fb", "a/b"],
    ["..%2Fx%2F..", "../x/.."],
    ["a%252Fb", "a%2Fb"],
    ["a+b", "a+b"],
    ["a%2Bb", "a+b"],
    ["%C3%BC", "ü"],
    ["%75%CC%88", "ü"],
  ];
  for (const [written, value] of literal) {
    it(`does not include ${written}, which is the value ${value}`, async () => {
      const answer = await rawRequest(service.port, head("GET", `/api/entity/user/user_id/${written}`, service));
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body?.data).to.include({ mark: value });
    });
  }

  it("with unescaped bytes is refused with 400", async () => {
    const bytes = Buffer.from(head("GET", "/api/entity/user/user_id/ü", service), "utf8");
    await refusedRaw(service, bytes, 400);
  });

  const elsewhere = [
    "/api/entity//user_id/a",
    "/api/entity/user//a",
    "/api/entity/user/user_id/",
    "/api/entity/user/",
    "/api/entity/user//",
    "/api/entity//a",
    "/api/entity/",
    "/api/me//a",
    "/api/entity/deletestatus//a",
    "/api/segment/",
    "/collect/json/",
    "/API/metric",
    "/api/Metric",
    "//api/metric",
    "/api//metric",
    "/api/metric//",
    "/api/metric/points/",
    "/api/./metric",
    "/api/x/../metric",
    "/api/metric;a=b",
    "/api/metric%2Fpoints",
    "/api%2Fmetric",
    "/api",
    "/.env",
    "/docs/../../package.json",
    "/a".repeat(1000),
  ];
  it("that is no route, such as one with an empty segment, is answered 404 for every method", async () => {
    for (const path of elsewhere)
      for (const method of ["GET", "DELETE", "PUT"]) await refusedRaw(service, head(method, path, service), 404);
  });

  const tables = ["deletestatus", "%64eletestatus", "deletestat%75s", "%64%65%6c%65%74%65%73%74%61%74%75%73"];
  for (const table of tables) {
    it(`with ${table} in place of a table is answered 404 or 405`, async () => {
      for (const path of [`/api/entity/${table}/a`, `/api/entity/${table}/user_id/a`, `/api/entity/${table}/_uid/a`]) {
        await refusedRaw(service, head("GET", path, service), 404);
        await refusedRaw(service, head("DELETE", path, service), 404, 405);
      }
    });
  }
  for (const table of [
    "DELETESTATUS",
    "deletestatus%20",
    "deletestatus%2F",
    "__proto__",
    "constructor",
    "USER",
    "%20user",
    "user%20",
  ]) {
    it(`with the unknown table ${table} is answered 404`, async () => {
      await refusedRaw(service, head("GET", `/api/entity/${table}/a`, service), 404);
      await refusedRaw(service, head("GET", `/api/entity/${table}/user_id/a`, service), 404);
      await refusedRaw(service, head("DELETE", `/api/entity/${table}/user_id/a`, service), 404);
    });
  }
});
