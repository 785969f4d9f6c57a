import { expect } from "chai";
import type { ApiContext, Route } from "../../src/http/core/route.js";
import { requireWithin } from "../../src/http/keys/bounds.js";
import type { KeyBounds, Scope } from "../../src/keys/api-key.js";
import { expectedRoutes } from "../support/route-table.js";
import { newKey, serviceOfSuite } from "../support/service.js";

/** Scopes that bounds of data can be combined with. */
const boundable: readonly Scope[] = ["entity:read", "entity:write", "metric:read", "metric:write"];

/** Bounds that no request below is within. */
const narrow = { stream: "other", fields: ["nothing"], by: "email" } satisfies KeyBounds;

const point = { dimension: "stream", dimension_id: "web", dimension_type: "size" };

/** Bodies of the routes that decide by their body. */
const bodies: Readonly<Record<string, { readonly json?: unknown; readonly body?: string }>> = {
  "POST /api/metric/points": { json: [{ ...point, value: 1, ts: Date.now() }] },
  "POST /api/v2/write": { body: "stream,dimension_id=web value=1" },
};

describe("P32: a key with bounds", () => {
  const service = serviceOfSuite();
  let keyed: readonly (Route & { readonly name: string })[];

  before(async () => {
    keyed = service.service.routes
      .filter(({ scopes }) => scopes !== "keyless")
      .map((route) => ({ ...route, name: `${route.method} ${route.path}` }));
    await service.fetch("/collect/json/web", { method: "POST", json: { _uid: "ada", plan: "paid", segments: ["s"] } });
  });

  const target = ({ path }: Route) =>
    path
      .replace(":table", "user")
      .replace(":fieldname", "_uid")
      .replace(":fieldval", "ada")
      .replace(":stream", "web")
      .replaceAll(/:\w+/g, "x");

  async function ask(
    route: Route & { readonly name: string },
    key: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; refusedBy: string; text: string; headers: Headers }> {
    const { method } = route;
    const response = await service.fetch(target(route), { method, key, headers, ...bodies[route.name] });
    const text = await response.text();
    const isRefusal = [401, 403, 429].includes(response.status);
    const refusedBy = isRefusal ? (JSON.parse(text) as { errors: { path: string }[] }).errors[0]?.path : undefined;
    return { status: response.status, refusedBy: refusedBy ?? "", text, headers: response.headers };
  }

  it("is refused, or its response trimmed, on exactly the routes that its bounds concern", async () => {
    const within = keyed.filter(({ scopes, alsoScope }) => {
      const allowed = (scope: Scope) => boundable.includes(scope);
      return (scopes as Scope[]).some(allowed) && (alsoScope === undefined || allowed(alsoScope));
    });
    const expected = [...expectedRoutes].flatMap(([name, { treatment }]) => (treatment === undefined ? [] : name));
    expect(within.map(({ name }) => name).sort()).to.deep.equal(expected.sort());
    for (const bound of ["stream", "fields", "by"] as const) {
      const { key } = await newKey(service, boundable, Date.now(), { [bound]: narrow[bound] });
      for (const route of within) {
        const { status, refusedBy, text } = await ask(route, key);
        const treatment = expectedRoutes.get(route.name)?.treatment?.[bound];
        const name = `${bound}: ${route.name}`;
        if (treatment === "refused") {
          expect([status, refusedBy], name).to.deep.equal([403, bound]);
          expect(text, name).to.include(`bound ${bound}`).and.not.include("other").and.not.include("email");
        } else {
          expect(status, name).to.not.be.oneOf([401, 403]);
          if (treatment === "trimmed") expect(JSON.parse(text), name).to.have.property("data").that.deep.equals({});
        }
      }
    }
  });

  it("cannot use a route that its bounds concern by a scope that allows all data", async () => {
    for (const bound of ["stream", "fields", "by"] as const) {
      const { key } = await newKey(service, ["entity:delete", "entity:read"], Date.now(), { [bound]: narrow[bound] });
      const preview = keyed.filter(({ name }) => name === "POST /api/deletion/preview");
      expect(preview).to.have.length(1);
      for (const route of preview) {
        const { status, refusedBy } = await ask(route, key);
        if (bound !== "stream") expect([status, refusedBy], bound).to.deep.equal([403, bound]);
      }
    }
  });

  it("is refused to pages of other origins on every route, and accepted without an origin", async () => {
    const origin = "https://a.example";
    for (const route of keyed) {
      const wanted = [...(route.scopes as Scope[]), ...(route.alsoScope === undefined ? [] : [route.alsoScope])];
      const { key } = await newKey(service, wanted, Date.now(), { origins: [origin] });
      const other = await ask(route, key, { origin: "https://b.example" });
      expect([other.status, other.refusedBy], route.name).to.deep.equal([403, "origins"]);
      expect(other.headers.get("access-control-allow-origin"), route.name).to.equal(null);
      for (const headers of [{}, { origin }]) {
        const served = await ask(route, key, headers);
        expect(served.status, route.name).to.not.be.oneOf([401, 403]);
        const allowed = "origin" in headers ? origin : null;
        expect(served.headers.get("access-control-allow-origin"), route.name).to.equal(allowed);
      }
    }
  });

  it("is refused above its rate and after its end on every route", async () => {
    for (const route of keyed) {
      const wanted = [...(route.scopes as Scope[]), ...(route.alsoScope === undefined ? [] : [route.alsoScope])];
      const { key } = await newKey(service, wanted, Date.now(), { rate: 1 });
      expect((await ask(route, key)).status, route.name).to.not.be.oneOf([401, 403, 429]);
      const second = await ask(route, key);
      expect([second.status, second.refusedBy], route.name).to.deep.equal([429, "rate"]);
      expect(Number(second.headers.get("retry-after")), route.name).to.be.within(1, 60);
      const ended = await newKey(service, wanted, Date.now(), { expiresAt: Date.now() });
      const after = await ask(route, ended.key);
      expect([after.status, after.text.includes("expires")], route.name).to.deep.equal([401, true]);
    }
  });

  it("is refused on a route that does not declare how it applies the bounds", () => {
    const refused = (scopes: readonly Scope[], bounds: KeyBounds) => {
      const ctx = { state: { bounds }, params: {} } as unknown as ApiContext;
      return expect(() => requireWithin({ scopes }, ctx), scopes.join()).to;
    };
    refused(["entity:read"], { by: "_uid" }).throw("bound by");
    refused(["entity:read", "metric:read"], { fields: ["plan"] }).throw("bound fields");
    refused(["entity:write"], { stream: "web" }).throw("bound stream");
    refused(["metric:write"], { stream: "web" }).throw("bound stream");
    refused(["metric:read"], narrow).not.throw();
    refused(["entity:read"], {}).not.throw();
  });
});
