import type { Socket } from "node:net";
import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { canary } from "../support/bad-input.js";
import { openSocket } from "../support/raw-request.js";
import { type FetchOptions, newKey, serviceOfSuite, startService } from "../support/service.js";
import { until } from "../support/until.js";

const KIB = 1024;

/** Calls that are rejected, with their code. */
const rejected: [string, unknown, string][] = [
  ["a call that is a list", [], "not_an_object"],
  ["a call that is a number", 7, "not_an_object"],
  ["a call that is null", null, "not_an_object"],
  ["a call without a type", { userId: canary }, "unknown_type"],
  ["an unknown type", { type: canary, userId: canary }, "unknown_type"],
  ["a type of another kind", { type: { identify: 1 }, userId: canary }, "unknown_type"],
  ["a type that objects have", { type: "constructor", userId: canary }, "unknown_type"],
  ["no identity", { type: "track", event: canary }, "no_identity"],
  ["empty identities", { type: "track", userId: "", anonymousId: null }, "no_identity"],
  ["a list of ids alone", { type: "track", userId: [canary, "b"] }, "no_identity"],
  ["an id that means nobody alone", { type: "alias", userId: "undefined", previousId: "null" }, "no_identity"],
  ["a group whose ids mean nobody", { type: "group", userId: "null", groupId: "none", traits: {} }, "no_identity"],
  [
    "a call of more than 1 MiB",
    { type: "track", userId: "a", properties: { text: "x".repeat(KIB * KIB) } },
    "call_too_large",
  ],
  [
    "numbers that take more than 1 MiB as they are stored",
    { type: "track", userId: "a", properties: { all: Array(60_000).fill(1e20) } },
    "call_too_large",
  ],
];

describe("a request to Segment's API", () => {
  const lines: string[] = [];
  const log = openLog("silent");
  log.warn = (line: object) => void lines.push(JSON.stringify(line));
  const service = serviceOfSuite({ limits: { batch_messages: 50 } }, { log });
  let key = "";
  before(async () => {
    key = (await newKey(service, ["entity:write"])).key;
  });

  const basic = (user: string, password = "") => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

  async function answer(path: string, options: FetchOptions) {
    const response = await service.fetch(`/v1/${path}`, { method: "POST", ...options });
    const text = await response.text();
    expect(text).to.not.include(canary);
    const { code } = JSON.parse(text) as { code?: string };
    return { status: response.status, text, code, headers: response.headers };
  }

  const page = { type: "page", anonymousId: "p" };

  it("accepts the key as user name of Basic, after Bearer, and in the body", async () => {
    const forms: FetchOptions[] = [
      { key: basic(key), json: page },
      { key: basic(key, "any password"), json: page },
      { key: `Bearer ${key}`, json: page },
      { key: null, json: { ...page, writeKey: key } },
      { key: basic(key), json: { ...page, writeKey: "another" } },
      { key: null, json: { ...page, writeKey: key }, headers: { "content-type": "text/plain; charset=latin1" } },
      { key: null, json: { ...page, writeKey: key }, headers: { "content-type": "image/png" } },
    ];
    for (const form of forms) expect((await answer("page", form)).status, JSON.stringify(form)).to.equal(200);
  });

  it("is refused with the status and the code that the SDKs read", async () => {
    const reader = (await newKey(service, ["entity:read"])).key;
    const big = "x".repeat(501 * KIB);
    const refusals: [FetchOptions, string, number, string][] = [
      [{ key: null, json: page }, "no key", 401, "unauthenticated"],
      [{ key: null, json: { ...page, writeKey: 7 } }, "a key of another type", 401, "unauthenticated"],
      [{ key: null, json: { ...page, writeKey: canary } }, "a wrong key in the body", 401, "unauthenticated"],
      [{ key: null, json: [] }, "a list without a key", 401, "unauthenticated"],
      [{ key: basic(canary), json: { ...page, writeKey: key } }, "a wrong key in the header", 401, "unauthenticated"],
      [{ key: reader, json: page }, "a key that may only read", 403, "forbidden"],
      [{ key, body: `{"canary": ${canary}` }, "a body that is not JSON", 400, "not_json"],
      [{ key, body: "" }, "an empty body", 400, "not_json"],
      [{ key: null, body: canary }, "a body that is not JSON, without a key", 400, "not_json"],
      [{ key, body: Uint8Array.of(0x22, 0xff, 0x22) }, "a body that is not UTF-8", 400, "not_utf8"],
      [{ key, body: canary, headers: { "content-encoding": "gzip" } }, "a body that is not gzip", 400, "not_gzip"],
      [{ key, body: canary, headers: { "content-encoding": "br" } }, "another compression", 415, "unsupported_media"],
      [{ key: null, json: { ...page, writeKey: key, big } }, "501 KiB with the key in them", 413, "too_large"],
      ...[51, 52, 500].map((calls): (typeof refusals)[number] => [
        { key, json: { batch: Array(calls).fill(page) } },
        `${calls} calls in a batch`,
        413,
        "too_large",
      ]),
      [{ key, json: { batch: [page], big: big.repeat(3) } }, "1.5 MiB beside the calls", 413, "too_large"],
      [{ key, json: { ...page, type: undefined, big: big.repeat(3) } }, "a call of 1.5 MiB", 413, "too_large"],
    ];
    for (const [options, name, status, code] of refusals) {
      const refused = await answer("b", options);
      expect([refused.status, refused.code], name).to.deep.equal([status, code]);
    }
    expect((await answer("b", { key, json: { batch: [page], big } })).status).to.equal(200);
  });

  it("is answered with success if single calls are rejected, which /metrics counts by code and the log without values", async () => {
    const counts = async () => {
      const text = await (await service.fetch("/metrics")).text();
      const found = text.matchAll(/^entity_metrics_messages_rejected_total\{code="(\w+)"\} (\d+)$/gm);
      return new Map([...found].map(([, code = "", count]) => [code, Number(count)]));
    };
    for (const [name, call, code] of rejected) {
      const before = (await counts()).get(code) ?? 0;
      const { status, text } = await answer("batch", { key, json: { batch: [page, call] } });
      expect([status, text], name).to.deep.equal([200, '{"success":true}']);
      expect(((await counts()).get(code) ?? 0) - before, name).to.equal(1);
    }
    const before = await counts();
    for (const json of [{}, [], 7, null, { batch: {} }])
      expect((await answer("batch", { key, json })).status).to.equal(200);
    expect((await answer("identify", { key, json: { traits: {} } })).status).to.equal(200);
    expect((await answer("batch", { key, json: { batch: [] } })).status).to.equal(200);
    const added = [...(await counts())].map(([code, count]) => [code, count - (before.get(code) ?? 0)]);
    expect(Object.fromEntries(added.filter(([, count]) => count !== 0))).to.deep.equal({
      unknown_type: 2,
      not_an_object: 3,
      no_identity: 1,
    });
    expect(lines.join("")).to.include('"codes":["call_too_large"]').and.not.include(canary);
  });

  it("that is not JSON is refused with the position of the error, and nothing of it is stored", async () => {
    const call = '{"type":"page","anonymousId":"whole"}';
    const bodies: [string, string][] = [
      [`{"batch":[${call},\n{"type":tru}]}`, "line 2, column 9"],
      [`{"a":x,"batch":[${call}]}`, "line 1, column 6"],
      [`{"batch":[${call}],\n"b":}`, "line 2, column 5"],
      [`{"batch":[\n${call}`, `line 2, column ${call.length + 1}`],
      [`{"batch":[${call},]}`, `line 1, column ${call.length + 12}`],
    ];
    for (const [body, position] of bodies) {
      const { status, text } = await answer("batch", { key, body });
      expect([status, text.includes(position)], text).to.deep.equal([400, true]);
    }
    expect((await service.fetch("/api/me/_uid/whole")).status).to.equal(404);
  });

  it("of the route of a type has that type", async () => {
    expect(
      (await answer("t", { key, json: { type: "identify", anonymousId: "r", traits: { plan: "x" } } })).status,
    ).to.equal(200);
    const profile = (await (await service.fetch("/api/me/_uid/r?meta=false")).json()) as { data: object };
    expect(profile.data).to.deep.equal({ _uid: "r", segments: [] });
  });

  it("may come from a page of an origin of its key, whose preflight allows the headers of analytics.js", async () => {
    const origins = ["https://shop.example"];
    const bounded = (await newKey(service, ["entity:write"], Date.now(), { origins, stream: "web" })).key;
    const asked = { "access-control-request-method": "POST", "access-control-request-headers": "x" };
    const preflight = (origin: string) =>
      service.fetch("/v1/t", { method: "OPTIONS", key: null, headers: { origin, ...asked } });
    const { status, headers } = await preflight("https://shop.example");
    expect([status, headers.get("access-control-allow-origin")]).to.deep.equal([204, "https://shop.example"]);
    const allowed = headers.get("access-control-allow-headers")?.toLowerCase().split(",");
    expect(allowed).to.include.members(["authorization", "content-type", "x-retry-count"]);
    expect((await preflight("https://other.example")).headers.get("access-control-allow-origin")).to.equal(null);
    for (const [origin, status, allowed] of [
      ["https://shop.example", 200, "https://shop.example"],
      ["https://other.example", 403, null],
    ] as const) {
      for (const options of [
        { key: basic(bounded), json: page },
        { key: null, json: { ...page, writeKey: bounded } },
      ]) {
        const answered = await answer("p", { ...options, headers: { origin } });
        expect([answered.status, answered.headers.get("access-control-allow-origin")]).to.deep.equal([status, allowed]);
      }
      if (status !== 200) continue;
      const served = await answer("p", { key: basic(bounded), json: page, headers: { origin } });
      expect(served.headers.get("access-control-expose-headers")).to.include("Retry-After");
    }
  });

  it("cannot occupy the service without a key, nor keep other addresses from it, by bodies that arrive slowly", async () => {
    const limits = { requests: 8, requests_per_key: 4 };
    const started = await startService({ http: { trust_proxy: true }, limits });
    const slow = async (address: string) => {
      const socket = await openSocket(started.port);
      const head = `POST /v1/b HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${address}\r\ncontent-length: 400000\r\n\r\n{`;
      socket.write(head);
      return socket;
    };
    const withKey = async (address: string) => {
      const json = { ...page, writeKey: started.key };
      const headers = { "x-forwarded-for": address };
      return (await started.fetch("/v1/b", { key: null, method: "POST", json, headers })).status;
    };
    const isRead = (address: string) => until("a body is read", async () => (await withKey(address)) === 429);
    const sockets: Socket[] = [];
    for (const address of ["1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"]) sockets.push(await slow(address));
    await isRead("1.1.1.1");
    expect(await withKey("2.2.2.2")).to.equal(200);
    for (const address of ["2.2.2.2", "3.3.3.3", "4.4.4.4"]) {
      sockets.push(await slow(address));
      await isRead(address);
    }
    expect(await withKey("5.5.5.5")).to.equal(429);
    expect((await started.fetch("/api/key")).status).to.equal(200);
    for (const socket of sockets) socket.destroy();
    await until("the bodies are given up", async () => (await withKey("1.1.1.1")) === 200);
  });

  it("is refused with 429 and Retry-After, never with 503, under load and while a store does not respond", async () => {
    for (const [name, limits, prepare] of [
      ["full", { requests: 0 }, () => {}],
      [
        "away",
        {},
        ({ service: { stores } }) => {
          stores.entities.commit = () => new Promise(() => {});
        },
      ],
    ] satisfies [string, object, (started: Awaited<ReturnType<typeof startService>>) => void][]) {
      const started = await startService({ limits: { store_deadline_ms: 200, ...limits } });
      prepare(started);
      const response = await started.fetch("/v1/page", { method: "POST", json: page });
      const { status, code } = (await response.json()) as { status: number; code: string };
      expect([response.status, status, code, response.headers.get("retry-after")], name).to.deep.equal([
        429,
        429,
        "too_many_requests",
        "1",
      ]);
    }
  });
});
