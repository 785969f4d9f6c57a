import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";

describe("browsers of other sites", () => {
  let service: TestService;
  afterEach(() => service.stop());

  const preflight = (origin: string) =>
    service.fetch("/api/metric", {
      method: "OPTIONS",
      key: null,
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-other" },
    });

  it("may not call unless the configuration names them", async () => {
    service = await startService();
    expect((await preflight("https://a.example")).headers.get("access-control-allow-origin")).to.equal(null);
  });

  it("may call when their origin is named, errors included, and no other may", async () => {
    service = await startService({ http: { cors: { origins: ["https://a.example"] } } });
    const allowed = await preflight("https://a.example");
    expect(allowed.status).to.equal(204);
    expect(allowed.headers.get("access-control-allow-origin")).to.equal("https://a.example");
    expect(allowed.headers.get("access-control-allow-headers")).to.include("Authorization").and.not.include("x-other");
    expect((await preflight("https://b.example")).headers.get("access-control-allow-origin")).to.equal(null);

    const refused = await service.fetch("/api/metric", { key: null, headers: { origin: "https://a.example" } });
    expect(refused.status).to.equal(401);
    expect(refused.headers.get("access-control-allow-origin")).to.equal("https://a.example");
    expect(refused.headers.get("access-control-allow-credentials")).to.equal(null);
  });

  it("may call when their origin is named with capitals or the default port", async () => {
    service = await startService({ http: { cors: { origins: ["https://A.example:443", "http://B.example:8080"] } } });
    for (const origin of ["https://a.example", "http://b.example:8080"]) {
      expect((await preflight(origin)).headers.get("access-control-allow-origin")).to.equal(origin);
    }
  });

  it("may call from every origin when the configured origin is *", async () => {
    service = await startService({ http: { cors: { origins: ["*"] } } });
    expect((await preflight("https://b.example")).headers.get("access-control-allow-origin")).to.equal("*");
  });
});
