import { expect } from "chai";
import { expectAlive, head, refused, refusedRaw } from "../support/bad-input.js";
import { rawRequest } from "../support/raw-request.js";
import { newKey, serviceOfSuite } from "../support/service.js";

describe("an invalid key", () => {
  const service = serviceOfSuite();
  afterEach(() => expectAlive(service));

  it("in two Authorization headers is refused with 400", async () => {
    await refusedRaw(service, head("GET", "/metrics", service, [`Authorization: ${service.key}`]), 400);
    await refusedRaw(service, head("GET", "/metrics", service, ["authorization: em_zqcanaryqz_1"]), 400);
  });

  it("without a required scope is refused with the scopes of which it needs one", async () => {
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

  it("in two Idempotency-Key headers is refused with 400", async () => {
    const twice = ["Idempotency-Key: a", "idempotency-key: b"];
    await refusedRaw(service, head("GET", "/metrics", service, twice), 400);
  });

  it("of a megabyte is refused with 431", async () => {
    const answer = await rawRequest(
      service.port,
      `GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: ${"a".repeat(1_000_000)}\r\n\r\n`,
    );
    expect(answer.status).to.equal(431);
  });

  it("that has not the form of a key is refused with 401", async () => {
    for (const key of ["em_\u00e4_0123456789abcdef0123456789abcdef", "em__", "em_a_", "__proto__", "Bearer", "Token"])
      await refused(service, "/metrics", { key }, 401);
  });
});
