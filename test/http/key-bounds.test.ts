import { expect } from "chai";
import { type KeyBounds, type Scope, scopes } from "../../src/keys/api-key.js";
import { newKey, serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;

describe("bounds of keys", () => {
  let now = Date.now();
  const service = serviceOfSuite({}, { clock: () => now, wrongKeysPerMinute: 1_000 });

  before(async () => {
    const ada = { _uid: "ada", email: "ada@example.com", plan: "paid", city: "Oslo", segments: ["news"] };
    await service.fetch("/collect/json/web", { method: "POST", json: ada });
    const acme = { account_id: "acme", plan: "team" };
    await service.fetch("/collect/json/web?table=account", { method: "POST", json: acme });
  });

  const keyWith = async (scopes: readonly Scope[], bounds: KeyBounds) =>
    (await newKey(service, scopes, now, bounds)).key;

  const read = async (path: string, key: string, headers: Record<string, string> = {}) => {
    const response = await service.fetch(path, { key, headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  describe("fields", () => {
    const forms = ["/api/entity/user/_uid/ada", "/api/entity/user/ada", "/api/me/email/ada@example.com"];
    const cases: [KeyBounds["fields"], string, object][] = [
      [["plan", "segments"], "", { data: { plan: "paid", segments: ["news"] } }],
      [["plan", "email"], "", { data: { plan: "paid", email: "ada@example.com" } }],
      [["plan"], "?fields=plan,city,email", { data: { plan: "paid" } }],
      [["plan"], "?fields=city&segments=true&meta=true&download=true", { data: {} }],
      [["plan", "segments"], "?fields=city", { data: { segments: ["news"] } }],
      [["plan", "segments"], "?segments=false", { data: { plan: "paid" } }],
      [["nothing"], "", { data: {} }],
    ];
    for (const [fields = [], query, body] of cases) {
      it(`${fields.join(",")} trims a read with ${query || "no query"}`, async () => {
        const key = await keyWith(["entity:read"], { fields });
        for (const form of forms) {
          const { status, text } = await read(`${form}${query}`, key);
          expect(status, form).to.equal(200);
          expect(JSON.parse(text), form).to.deep.equal({ status: 200, message: "success", ...body });
        }
      });
    }

    it("with meta returns the same meta as an unbounded key, and none with meta=false", async () => {
      const key = await keyWith(["entity:read"], { fields: ["meta"] });
      const whole = (await (await service.fetch("/api/entity/user/ada")).json()) as { meta: object };
      const { data, meta } = JSON.parse((await read("/api/entity/user/ada", key)).text) as Record<string, unknown>;
      expect({ data, meta }).to.deep.equal({ data: {}, meta: whole.meta });
      expect(JSON.parse((await read("/api/entity/user/ada?meta=false", key)).text)).to.not.have.property("meta");
    });

    it("explains segments only if it names segments, alike for unknown people", async () => {
      const path = (name: string) => `/api/entity/user/_uid/${name}/segments`;
      const open = await keyWith(["entity:read"], { fields: ["segments"] });
      expect((await read(path("ada"), open)).text).to.include('"news"');
      const key = await keyWith(["entity:read"], { fields: ["plan"] });
      const [known, unknown] = [await read(path("ada"), key), await read(path("nobody-here"), key)];
      expect(known.status).to.equal(403);
      expect(known.text).to.equal(unknown.text).and.include("fields");
    });
  });

  describe("by", () => {
    it("rejects a message with another identity field, which could join another person's profile", async () => {
      const key = await keyWith(["entity:read", "entity:write"], { by: "_uid", fields: ["plan"] });
      const json = [
        { _uid: "eve", email: "ada@example.com" },
        { _uid: "eve", city: "Rome" },
      ];
      const sent = await service.fetch("/collect/json/web", { method: "POST", key, json });
      const { data } = (await sent.json()) as { data: { message_count: number; errors: object[] } };
      expect(data.message_count).to.equal(1);
      expect(data.errors).to.have.length(1);
      expect(data.errors[0]).to.include({ code: "outside_bound", path: "[0].email" });
      expect(JSON.parse((await read("/api/me/_uid/eve", key)).text).data).to.deep.equal({});
    });

    it("rejects a message with several values of the field, which could join two people", async () => {
      const key = await keyWith(["entity:write"], { by: "_uid" });
      const json = [{ _uid: ["joe", "ada"] }, { _uid: ["joe"], city: "Rome" }];
      const sent = await service.fetch("/collect/json/web", { method: "POST", key, json });
      const { data } = (await sent.json()) as { data: { message_count: number; errors: object[] } };
      expect(data.message_count).to.equal(1);
      expect(data.errors[0]).to.include({ code: "outside_bound", path: "[0]._uid" });
      expect(JSON.parse((await read("/api/me/_uid/joe?meta=false", service.key)).text).data).to.deep.equal({
        _uid: "joe",
        city: "Rome",
        segments: [],
      });
    });

    it("allows reads by this field in every table, and refuses other fields alike for known and unknown people", async () => {
      const key = await keyWith(["entity:read"], { by: "email" });
      for (const path of ["/api/entity/user/email/ada@example.com", "/api/me/email/ada@example.com"]) {
        expect((await read(path, key)).status, path).to.equal(200);
      }
      expect((await read("/api/entity/user/email/ada@example.com/segments", key)).status).to.equal(200);
      expect((await read("/api/entity/user/email/eve@example.com", key)).status).to.equal(404);
      const refused: [string, string][] = [
        ["/api/entity/user/_uid/ada", "/api/entity/user/_uid/eve"],
        ["/api/entity/user/ada", "/api/entity/user/eve"],
        ["/api/entity/user/%61da", "/api/entity/user/%65ve"],
        ["/api/me/_uid/ada", "/api/me/_uid/eve"],
        ["/api/entity/user/_uid/ada/segments", "/api/entity/user/_uid/eve/segments"],
        ["/api/entity/account/acme", "/api/entity/account/other"],
        ["/api/entity/account/account_id/acme", "/api/entity/account/account_id/other"],
      ];
      for (const [known, unknown] of refused) {
        const [one, other] = [await read(known, key), await read(unknown, key)];
        expect(one.status, known).to.equal(403);
        expect(one.text, known).to.equal(other.text);
        expect(JSON.parse(one.text).errors, known).to.have.nested.property("[0].path", "by");
      }
    });

    it("allows a read by the value alone if it is the default identity of the table", async () => {
      const key = await keyWith(["entity:read"], { by: "_uid" });
      expect((await read("/api/entity/user/ada", key)).status).to.equal(200);
      expect((await read("/api/entity/account/acme", key)).status).to.equal(403);
      expect((await read("/api/entity/nothing/acme", key)).status).to.equal(404);
    });
  });

  describe("stream", () => {
    const post = async (path: string, key: string, init: { json?: unknown; body?: string; type?: string }) => {
      const headers = init.type === undefined ? {} : { "content-type": init.type };
      const response = await service.fetch(path, { method: "POST", key, headers, ...init });
      return { status: response.status, text: await response.text() };
    };
    const series = (id: string, dimension = "stream") => ({ dimension, dimension_id: id, dimension_type: "size" });
    const ts = () => now - 2 * HOUR;
    const point = (id: string, dimension?: string) => ({ ...series(id, dimension), value: 5, ts: ts() });
    const lines = (...points: object[]) => points.map((one) => JSON.stringify(one)).join("\n");

    it("allows messages only to this stream", async () => {
      const key = await keyWith(["entity:write"], { stream: "shop" });
      expect((await post("/collect/json/shop", key, { json: { _uid: "bob" } })).status).to.equal(200);
      for (const path of ["/collect/json/web", "/collect/json/Shop", "/collect/json/web?dryrun=true"]) {
        const { status, text } = await post(path, key, { json: { _uid: "carol" } });
        expect([status, text.includes("bound stream"), text.includes("shop")], path).to.deep.equal([403, true, false]);
      }
      expect((await service.fetch("/api/entity/user/carol")).status).to.equal(404);
    });

    it("allows points only of this stream, in every form, and refuses a mixed request as a whole", async () => {
      const key = await keyWith(["metric:write"], { stream: "mine" });
      const json = "/api/metric/points";
      const line = "/api/v2/write?precision=ms";
      const ndjson = "application/x-ndjson";
      const forms: [string, object, number][] = [
        [json, { json: [point("mine")] }, 200],
        [json, { body: lines(point("mine")), type: ndjson }, 200],
        [json, { json: { series: [series("mine")], ts: [ts()], values: [[5]] } }, 200],
        [line, { body: `stream,dimension_id=mine value=5 ${ts()}`, type: "text/plain" }, 204],
        [json, { json: [point("mine"), point("other")] }, 403],
        [json, { json: [point("mine", "segment")] }, 403],
        [json, { body: lines(point("other"), point("mine")), type: ndjson }, 403],
        [json, { json: { series: [series("mine"), series("other")], ts: [ts()], values: [[5], [5]] } }, 403],
        [line, { body: `stream,dimension_id=other value=5 ${ts()}`, type: "text/plain" }, 403],
        [line, { body: `segment,dimension_id=mine value=5 ${ts()}`, type: "text/plain" }, 403],
      ];
      for (const [path, init, status] of forms) {
        const answer = await post(path, key, init);
        expect(answer.status, JSON.stringify(init)).to.equal(status);
        if (status === 403) expect(answer.text).to.include("bound stream").and.not.include("mine");
      }
      const written = async (dimension: string, id: string) => {
        const query = `dimension=${dimension}&dimension_id=${id}&dimension_type=size&range=1d`;
        const { data } = (await (await service.fetch(`/api/metric?${query}`)).json()) as {
          data: { values: unknown[] }[];
        };
        return data[0]?.values.length;
      };
      expect(await written("stream", "mine")).to.equal(1);
      expect(await written("stream", "other")).to.equal(0);
      expect(await written("segment", "mine")).to.equal(0);
    });
  });

  describe("stream, for reads,", () => {
    it("allows every series by its name, and refuses all segments and all streams, by query and by body", async () => {
      const key = await keyWith(["metric:read"], { stream: "shop" });
      for (const [dimension, dimension_id, status] of [
        ["stream", "web", 200],
        ["segment", "news", 200],
        ["stream", "all_streams", 403],
        ["segment", "all_segments", 403],
      ] as const) {
        const json = { dimension, dimension_id, dimension_type: "size" };
        for (const [method, path] of [
          ["GET", `/api/metric?${new URLSearchParams(json)}`],
          ["GET", `/api/metric?${new URLSearchParams(json)}&format=csv`],
          ["POST", "/api/metric"],
        ] as const) {
          const ask = (key: string) => service.fetch(path, { method, key, ...(method === "POST" && { json: [json] }) });
          // The response is cached from the second request on.
          for (let i = 0; i < 2; i += 1) expect((await ask(service.key)).status).to.equal(200);
          const answer = await ask(key);
          const text = await answer.text();
          expect(answer.status, `${path} ${dimension_id}`).to.equal(status);
          if (status === 403) expect(text).to.include("bound stream").and.not.include("shop");
        }
      }
    });
  });

  describe("origins", () => {
    const origin = "https://page.example";
    const preflight = async (from: string, path = "/api/metric", key: string | null = null) => {
      const headers = { origin: from, "access-control-request-method": "GET" };
      const response = await service.fetch(path, { method: "OPTIONS", key, headers });
      return { status: response.status, allowed: response.headers.get("access-control-allow-origin") };
    };
    const allowed = async (path: string, key: string | null, from = origin) => {
      const response = await service.fetch(path, { key, headers: { origin: from } });
      await response.arrayBuffer();
      return [response.status, response.headers.get("access-control-allow-origin")];
    };

    it("answer a preflight for an origin of any valid key, and for no other", async () => {
      const from = "https://preflight.example";
      expect((await preflight(from)).allowed).to.equal(null);
      const { id } = await newKey(service, ["entity:read"], now, { origins: ["https://first.example", from] });
      for (const path of ["/api/metric", "/api/entity/user/_uid/ada", "/collect/json/web", "/api/key"]) {
        expect(await preflight(from, path), path).to.deep.equal({ status: 204, allowed: from });
      }
      expect((await preflight(from, "/api/metric", service.key)).allowed, "with a key").to.equal(from);
      expect((await preflight("https://other.example")).allowed).to.equal(null);
      expect((await preflight("null")).allowed).to.equal(null);
      await service.service.stores.keys.revoke(id, now);
      expect((await preflight(from)).allowed).to.equal(null);
      await newKey(service, ["entity:read"], now, { origins: [from], expiresAt: now + 1000 });
      expect((await preflight(from)).allowed).to.equal(from);
      now += 1000;
      expect((await preflight(from)).allowed).to.equal(null);
    });

    it("let pages read every response to their key, refusals included", async () => {
      const key = await keyWith(["entity:read"], { origins: [origin], by: "_uid" });
      expect(await allowed("/api/entity/user/ada", key)).to.deep.equal([200, origin]);
      expect(await allowed("/api/entity/user/email/x", key)).to.deep.equal([403, origin]);
      expect(await allowed("/api/metric", key)).to.deep.equal([403, origin]);
      expect(await allowed("/api/metric?nothing=1", key)).to.deep.equal([400, origin]);
      expect(await allowed("/api/nothing", key)).to.deep.equal([404, origin]);
      expect(await allowed("/api/entity/user/ada", `${key}0`)).to.deep.equal([401, origin]);
      expect(await allowed("/api/entity/user/ada", null)).to.deep.equal([401, origin]);
      const ended = await keyWith(["entity:read"], { origins: [origin], expiresAt: now });
      expect(await allowed("/api/entity/user/ada", ended)).to.deep.equal([401, origin]);
      const slow = await keyWith(["entity:read"], { origins: [origin], rate: 1 });
      expect(await allowed("/api/key", slow)).to.deep.equal([200, origin]);
      expect(await allowed("/api/key", slow)).to.deep.equal([429, origin]);
    });

    it("expose Retry-After and the request id, and vary by origin", async () => {
      const key = await keyWith(["entity:read"], { origins: [origin] });
      const { headers } = await read("/api/entity/user/ada", key, { origin });
      expect(headers.get("access-control-expose-headers")).to.include("Retry-After").and.include("X-Request-Id");
      expect(headers.get("vary")).to.include("Origin");
      expect(headers.get("access-control-allow-credentials")).to.equal(null);
    });

    it("let no page read the response to a key of another page, or to a key without this bound", async () => {
      await keyWith(["entity:read"], { origins: [origin] });
      const other = await keyWith(["entity:read"], { origins: ["https://second.example"] });
      expect(await allowed("/api/entity/user/ada", other)).to.deep.equal([403, null]);
      expect(await allowed("/api/entity/user/ada", other, "https://SECOND.example")).to.deep.equal([403, null]);
      expect(await allowed("/api/entity/user/ada", service.key)).to.deep.equal([200, null]);
      expect(await allowed("/health", null, "https://unknown.example")).to.deep.equal([200, null]);
    });
  });

  it("limit the requests of each key separately by its rate", async () => {
    const [one, other] = [await keyWith(["metric:read"], { rate: 3 }), await keyWith(["metric:read"], { rate: 3 })];
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await read("/metrics", one)).status);
    expect(statuses).to.deep.equal([200, 200, 200, 429, 429]);
    expect((await read("/api/stream", other)).status).to.equal(200);
    const { text, headers } = await read("/api/stream", one);
    const seconds = Number(headers.get("retry-after"));
    expect(seconds).to.be.within(1, 60);
    const message = `The key exceeds its bound rate; try again in ${seconds} s`;
    expect(JSON.parse(text).errors).to.deep.equal([{ code: "too_many_requests", path: "rate", message }]);
  });

  it("end a key at its time, also while it is cached", async () => {
    const key = await keyWith(["metric:read"], { expiresAt: now + 500 });
    expect((await read("/api/key", key)).status).to.equal(200);
    now += 499;
    expect((await read("/api/key", key)).status).to.equal(200);
    now += 1;
    const { status, text, headers } = await read("/api/key", key);
    expect(status).to.equal(401);
    expect(headers.get("www-authenticate")).to.match(/^Bearer/);
    expect(text).to.include("expired").and.include("expires");
  });

  it("are returned by GET /api/key with the name and the scopes of any key, without bounds that it does not have", async () => {
    const bounds = { fields: ["plan"], by: "_uid", origins: ["https://a.example"], stream: "web", rate: 60 };
    const expiresAt = now + HOUR;
    const shown = { ...bounds, expires_at: new Date(expiresAt).toISOString() };
    for (const [wanted, of, expected] of [
      [["entity:read"], { ...bounds, expiresAt }, shown],
      [["metric:read", "admin"], {}, {}],
    ] as [Scope[], KeyBounds, object][]) {
      const { key, id } = await newKey(service, wanted, now, of);
      const { status, headers, text } = await read("/api/key", key);
      expect([status, headers.get("cache-control")]).to.deep.equal([200, "no-store"]);
      expect(JSON.parse(text).data).to.deep.equal({ id, name: "a test", scopes: [...wanted].sort(), ...expected });
    }
    const configured = { id: "admin", name: "admin", scopes: [...scopes].sort() };
    expect(JSON.parse((await read("/api/key", service.key)).text).data).to.deep.equal(configured);
  });
});
