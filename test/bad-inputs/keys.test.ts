import { expect } from "chai";
import { expectAlive, head, refusedRaw } from "../support/bad-input.js";
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
});
