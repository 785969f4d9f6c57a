import { expect } from "chai";
import { expectAlive, head, refused, refusedRaw } from "../support/bad-input.js";
import { rawRequest } from "../support/raw-request.js";
import { newKey, serviceOfSuite } from "../support/service.js";

describe("bad keys", () => {
  const service = serviceOfSuite();
  afterEach(() => expectAlive(service));

  it("two Authorization headers are 400", async () => {
    await refusedRaw(service, head("GET", "/metrics", service, [`Authorization: ${service.key}`]), 400);
    await refusedRaw(service, head("GET", "/metrics", service, ["authorization: em_zqcanaryqz_1"]), 400);
  });

  it("the error for a key that lacks a scope names the scope, or the ones of which one is needed", async () => {
    const { key } = await newKey(service, ["metric:write"]);
    const errorsOf = async (method: string, path: string) => {
      const { body } = await refusedRaw(service, head(method, path, { ...service, key }), 403);
      return [body?.message, ...(body?.errors ?? [])];
    };
    const one = "The key lacks the scope metric:read";
    expect(await errorsOf("GET", "/api/metric")).to.deep.equal([one, { code: "forbidden", path: "", message: one }]);
    const [several] = await errorsOf("GET", "/api/entity/deletestatus/x");
    expect(several).to.equal("The key lacks the scopes entity:delete and entity:read, of which one is needed");
  });

  it("two Idempotency-Key headers are 400", async () => {
    const twice = ["Idempotency-Key: a", "idempotency-key: b"];
    await refusedRaw(service, head("GET", "/metrics", service, twice), 400);
  });

  it("a key of a megabyte is 431", async () => {
    const answer = await rawRequest(
      service.port,
      `GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: ${"a".repeat(1_000_000)}\r\n\r\n`,
    );
    expect(answer.status).to.equal(431);
  });

  it("a text that is no key is 401", async () => {
    for (const key of ["em_\u00e4_0123456789abcdef0123456789abcdef", "em__", "em_a_", "__proto__", "Bearer", "Token"])
      await refused(service, "/metrics", { key }, 401);
  });
});
