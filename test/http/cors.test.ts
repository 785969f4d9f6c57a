import { expect } from "chai";
import { newKey, startService, type TestService } from "../support/service.js";

describe("a page of another origin", () => {
  let service: TestService;

  const preflight = (origin: string) =>
    service.fetch("/api/metric", {
      method: "OPTIONS",
      key: null,
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-other" },
    });

  it("may call and read errors if its origin is configured, and no other page may", async () => {
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

  it("may call if its origin is configured with capitals or the default port", async () => {
    service = await startService({ http: { cors: { origins: ["https://A.example:443", "http://B.example:8080"] } } });
    for (const origin of ["https://a.example", "http://b.example:8080"]) {
      expect((await preflight(origin)).headers.get("access-control-allow-origin")).to.equal(origin);
    }
  });

  it("may call from any origin if * is configured", async () => {
    service = await startService({ http: { cors: { origins: ["*"] } } });
    expect((await preflight("https://b.example")).headers.get("access-control-allow-origin")).to.equal("*");
  });

  it("may send the key of its origin in the query if key_in_query is set", async () => {
    service = await startService({ http: { key_in_query: true } });
    const origins = ["https://a.example"];
    const { key } = await newKey(service, ["metric:read"], Date.now(), { origins });
    for (const origin of ["https://a.example", "https://b.example"]) {
      const response = await service.fetch(`/api/stream?key=${key}`, { key: null, headers: { origin } });
      const allowed = response.headers.get("access-control-allow-origin");
      expect([response.status, allowed]).to.deep.equal(origin === origins[0] ? [200, origin] : [403, null]);
    }
  });

  it("may call from a configured origin and from an origin of a key", async () => {
    service = await startService({ http: { cors: { origins: ["https://a.example"] } } });
    const { key } = await newKey(service, ["metric:read"], Date.now(), { origins: ["https://b.example"] });
    const answer = async (origin: string) => {
      const { status, headers } = await service.fetch("/api/stream", { key, headers: { origin } });
      return [status, headers.get("access-control-allow-origin")];
    };
    expect(await answer("https://b.example")).to.deep.equal([200, "https://b.example"]);
    expect(await answer("https://a.example")).to.deep.equal([403, "https://a.example"]);
    expect(await answer("https://c.example")).to.deep.equal([403, null]);
    expect((await preflight("https://b.example")).headers.get("access-control-allow-origin")).to.equal(
      "https://b.example",
    );
  });

  it("gets a response without CORS headers while the keys cannot be read", async () => {
    service = await startService();
    service.service.stores.keys.hasOrigin = () => Promise.reject(new Error("The store is away"));
    const response = await service.fetch("/health", { key: null, headers: { origin: "https://a.example" } });
    expect([response.status, response.headers.get("access-control-allow-origin")]).to.deep.equal([200, null]);
  });
});
