import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";

const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };

describe("a UTF-8 byte order mark at the start of a body", () => {
  const service = serviceOfSuite();

  const send = async (method: string, path: string, body: Buffer, headers: Record<string, string> = {}) => {
    const response = await service.fetch(path, {
      method,
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    return { status: response.status, text: await response.text() };
  };

  const lines: [string, string, string, number][] = [
    ["/api/metric/points", "application/x-ndjson", JSON.stringify({ ...series, value: 1, ts: 1767225600000 }), 200],
    ["/api/v2/write?precision=s", "text/plain", "segment,dimension_id=a value=1 1767225600", 204],
  ];
  for (const [path, type, line, status] of lines) {
    it(`is skipped by POST ${path} in ${type}`, async () => {
      const answer = await send("POST", path, Buffer.from(`\ufeff${line}\n`), { "content-type": type });
      expect(answer.status, answer.text).to.equal(status);
    });
  }

  const bodies: [string, string, unknown][] = [
    ["POST", "/api/metric", series],
    ["POST", "/api/metric/points", [{ ...series, value: 1, ts: 1767225600000 }]],
    ["PUT", "/api/segment/s1", { name: "One" }],
    ["POST", "/collect/json/web", { email: "a@b.de" }],
    ["POST", "/api/deletion", { field: "email", value: "a@b.de" }],
  ];
  for (const [method, path, json] of bodies) {
    it(`is skipped by ${method} ${path}, plain and in gzip; a second one is not JSON`, async () => {
      const marked = Buffer.from(`\ufeff${JSON.stringify(json)}`);
      const plain = await send(method, path, marked);
      expect(plain.status, plain.text).to.equal(200);
      const packed = await send(method, path, gzipSync(marked), { "content-encoding": "gzip" });
      expect(packed.status, packed.text).to.equal(200);
      for (const body of [`\ufeff\ufeff${JSON.stringify(json)}`, "\ufeff", `${JSON.stringify(json)}\ufeff`]) {
        const refused = await send(method, path, Buffer.from(body));
        expect(refused.status, JSON.stringify(body)).to.equal(400);
        expect(refused.text).to.include("not_json");
      }
      expect((await send(method, path, Buffer.from([0xef, 0xbb]))).status).to.equal(400);
    });
  }
});
