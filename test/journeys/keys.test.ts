import { expect } from "chai";
import { type Scope, scopes } from "../../src/keys/api-key.js";
import { newKey, startService, type TestService } from "../support/service.js";

describe("keys", () => {
  let service: TestService;
  const now = Date.now();

  before(async () => {
    service = await startService({ roles: ["api"] }, { clock: () => now });
  });
  after(() => service.stop());

  const status = async (path: string, key: string | null) => (await service.fetch(path, { key })).status;

  it("have their name and scopes returned by GET /api/key, whatever their scopes", async () => {
    for (const wanted of [["entity:write"], ["metric:read", "admin"], [...scopes]] as Scope[][]) {
      const { key, id } = await newKey(service, wanted, now);
      const response = await service.fetch("/api/key", { key });
      expect(response.status).to.equal(200);
      expect(response.headers.get("cache-control")).to.equal("no-store");
      const data = { id, name: "a test", scopes: [...wanted].sort() };
      expect(await response.json()).to.deep.equal({ status: 200, message: "success", data });
    }
    const configured = (await (await service.fetch("/api/key")).json()) as { data: object };
    expect(configured.data).to.deep.equal({ id: "admin", name: "admin", scopes: [...scopes].sort() });
  });

  it("remain valid or revoked after a restart", async () => {
    const [lasting, revoked] = [
      await newKey(service, ["metric:read"], now),
      await newKey(service, ["metric:read"], now),
    ];
    await service.service.stores.keys.revoke(revoked.id, now);
    await service.stop({ keep: true });
    service = await startService({ roles: ["api"] }, { clock: () => now, dir: service.dir });
    expect(await status("/metrics", lasting.key)).to.equal(200);
    expect(await status("/metrics", revoked.key)).to.equal(401);
  });
});
