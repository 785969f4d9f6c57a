import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import type { FetchOptions } from "../support/service.js";
import { serviceOfSuite } from "../support/service.js";

const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };
const good = JSON.stringify(series);
const json = { "content-type": "application/json" };
const gzip = { ...json, "content-encoding": "gzip" };

describe("an invalid body", () => {
  const service = serviceOfSuite();
  afterEach(async () => {
    expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
    await expectAlive(service);
  });

  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const bodies: [string, FetchOptions, number][] = [
    ["nothing", { headers: json }, 400],
    ["null", { headers: json, body: "null" }, 400],
    ["a number", { headers: json, body: "1" }, 400],
    ["a string", { headers: json, body: `"${canary}"` }, 400],
    ["an empty list", { headers: json, body: "[]" }, 400],
    ["a list of nothing good", { headers: json, body: "[1, null]" }, 400],
    ["half of a body", { headers: json, body: good.slice(0, -5) }, 400],
    ["bytes after the end", { headers: json, body: `${good}x` }, 400],
    ["two bodies", { headers: json, body: `${good}${good}` }, 400],
    ["NaN", { headers: json, body: '{"dimension": NaN}' }, 400],
    ["a comment", { headers: json, body: `// ${canary}\n${good}` }, 400],
    ["single quotes", { headers: json, body: good.replaceAll('"', "'") }, 400],
    ["text that is no UTF-8", { headers: json, body: Buffer.from('{"dimension": "\xff"}', "latin1") }, 400],
    ["UTF-16", { headers: json, body: Buffer.from(good, "utf16le") }, 400],
    ["100,000 levels", { headers: json, body: nested(100_000) }, 400],
    ["100,000 levels of objects", { headers: json, body: `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}` }, 400],
    ["another type", { headers: { "content-type": "text/plain" }, body: good }, 415],
    ["a form", { headers: { "content-type": "application/x-www-form-urlencoded" }, body: good }, 415],
    ["a type of its own", { headers: { "content-type": "application/vnd.api+json" }, body: good }, 415],
    ["an invalid type", { headers: { "content-type": canary }, body: good }, 415],
    ["no type", { body: Buffer.from(good) }, 415],
    ["another charset", { headers: { "content-type": "application/json; charset=utf-7" }, body: good }, 415],
    ["latin-1", { headers: { "content-type": "application/json; charset=iso-8859-1" }, body: good }, 415],
    ["plain text as gzip", { headers: gzip, body: good }, 400],
    ["corrupt gzip", { headers: gzip, body: corrupted(gzipSync(good)) }, 400],
    ["half of gzip", { headers: gzip, body: gzipSync(good).subarray(0, 20) }, 400],
    ["gzip twice", { headers: { ...json, "content-encoding": "gzip, gzip" }, body: gzipSync(gzipSync(good)) }, 415],
    ["br", { headers: { ...json, "content-encoding": "br" }, body: good }, 415],
    ["deflate", { headers: { ...json, "content-encoding": "deflate" }, body: good }, 415],
    ["an unknown encoding", { headers: { ...json, "content-encoding": canary }, body: good }, 415],
    ["__proto__", { headers: json, body: `{"__proto__": {"polluted": 1}, ${good.slice(1)}` }, 400],
    ["constructor", { headers: json, body: `{"constructor": {"prototype": {"polluted": 1}}, ${good.slice(1)}` }, 400],
    ["__proto__ with an escape", { headers: json, body: `{"\\u005f_proto__": {"polluted": 1}, ${good.slice(1)}` }, 400],
  ];
  for (const [name, options, status] of bodies) {
    it(`(${name}) is refused with ${status}`, () =>
      refused(service, "/api/metric", { method: "POST", ...options }, status));
  }

  const point = { ...series, value: 1, ts: 1767225600000 };
  const writers: [method: string, path: string, good: unknown][] = [
    ["POST", "/api/metric/points", [point]],
    ["POST", "/collect/json/web", { email: "a@b.de" }],
    ["POST", "/api/deletion", { field: "email", value: "a@b.de" }],
    ["PUT", "/api/segment/a", { name: "One" }],
    ["PUT", "/api/experience/a", { audience: "a", goal: "a" }],
    ["PUT", "/api/mark/a", { ts: 1767225600000, text: "a" }],
  ];
  const everywhere = bodies.filter(([name]) =>
    /nothing$|null|a number|a string|half of a body|bytes after|NaN|no UTF-8|100,000|another|gzip|br$|no type|latin/.test(
      name,
    ),
  );
  for (const [method, path] of writers) {
    it(`is refused by ${method} ${path} with the same status`, async () => {
      for (const [name, options, status] of everywhere) {
        // A list of one bad message: reported by position.
        if (path.startsWith("/collect") && name === "100,000 levels") continue;
        await refused(service, path, { method, ...options }, status);
      }
    });
  }

  for (const [method, path, value] of [["POST", "/api/metric", series] as const, ...writers]) {
    it(`does not include a byte order mark before the body of ${method} ${path}, plain or in gzip, but a second one`, async () => {
      const send = async (body: string | Uint8Array, headers: Record<string, string> = json) => {
        const response = await service.fetch(path, { method, body, headers });
        return [response.status, await response.text()] as const;
      };
      const text = JSON.stringify(value);
      expect(await send(`\ufeff${text}`)).to.have.property("0", 200);
      expect(await send(gzipSync(`\ufeff${text}`), gzip)).to.have.property("0", 200);
      for (const body of [`\ufeff\ufeff${text}`, "\ufeff", `${text}\ufeff`]) {
        const [status, answer] = await send(body);
        expect([status, answer.includes("not_json")], JSON.stringify(body)).to.deep.equal([400, true]);
      }
      expect(await send(Buffer.from([0xef, 0xbb]))).to.have.property("0", 400);
    });
  }

  it("does not include a byte order mark before lines", async () => {
    for (const [path, type, line, status] of [
      ["/api/metric/points", "application/x-ndjson", JSON.stringify(point), 200],
      ["/api/v2/write?precision=s", "text/plain", "segment,dimension_id=a value=1 1767225600", 204],
    ] as const) {
      const headers = { "content-type": type };
      const response = await service.fetch(path, { method: "POST", body: `\ufeff${line}\n`, headers });
      expect([path, response.status]).to.deep.equal([path, status]);
    }
  });

  it("does not include bodies in gzip or UTF-8", async () => {
    const goods: FetchOptions[] = [
      { headers: json, body: good },
      { headers: { "content-type": "application/json; charset=UTF-8" }, body: good },
      { headers: { "content-type": 'Application/JSON ; charset="UTF-8"' }, body: good },
      { headers: { "content-type": "application/json;" }, body: good },
      { headers: { "content-type": "application/json; a" }, body: good },
      { headers: { ...json, "content-encoding": "Identity" }, body: good },
      { headers: { ...json, "content-encoding": "GZIP" }, body: gzipSync(good) },
      { headers: { ...json, "content-encoding": "x-gzip" }, body: gzipSync(good) },
      { headers: gzip, body: gzipSync(good) },
    ];
    for (const options of goods) {
      expect((await service.fetch("/api/metric", { method: "POST", ...options })).status).to.equal(200);
    }
  });
});

function corrupted(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = 12; i < copy.length - 8; i += 1) copy[i] = (copy[i] ?? 0) ^ 0x55;
  return copy;
}
