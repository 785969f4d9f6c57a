import { expect } from "chai";
import { rawRequest } from "../support/raw-request.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const START = Date.parse("2026-03-02T10:17:00Z");
const webQuery = "/api/metric?dimension=stream&dimension_id=web&dimension_type=size";

describe("a metric response that the caller has stored", () => {
  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => START });
  before(async () => {
    await writePoints(service, [pointOf("stream", "web", 5, START)]);
  });

  for (const method of ["GET", "HEAD"] as const) {
    for (const control of ["no-cache", "max-age=0", "no-store", undefined]) {
      it(`is 304 to ${method} with its ETag and ${control === undefined ? "no Cache-Control" : control}`, async () => {
        const { etag } = await get(webQuery);
        for (const tags of [etag, `"other", ${etag}`, etag.slice(2), "*"]) {
          const headers = { "if-none-match": tags, ...(control === undefined ? {} : { "cache-control": control }) };
          const { status, headers: answered } = await raw(method, webQuery, headers);
          expect([tags, status, answered.get("etag")]).to.deep.equal([tags, 304, etag]);
        }
      });
    }

    it(`is 200 to ${method} with another ETag`, async () => {
      const { status } = await raw(method, webQuery, { "if-none-match": '"other", W/"another"' });
      expect(status).to.equal(200);
    });
  }

  it("is 304 without the headers of its compressed body", async () => {
    const path = `${webQuery.replace("web", "busy")}&range=10d&interval=1h`;
    const hours = Array.from({ length: 200 }, (_, i) => START - i * 3_600_000);
    await writePoints(
      service,
      hours.map((at, i) => pointOf("stream", "busy", i, at)),
    );
    const accepted = { "accept-encoding": "gzip" };
    const { headers } = await raw("GET", path, accepted);
    expect(headers.get("content-encoding")).to.equal("gzip");
    const stored = { ...accepted, "if-none-match": String(headers.get("etag")) };
    const { status, headers: answered } = await raw("GET", path, stored);
    expect(status).to.equal(304);
    const ofBody = [...answered.keys()].filter((name) => name.startsWith("content-"));
    expect(ofBody).to.deep.equal([]);
    expect(answered.get("vary")).to.equal(headers.get("vary"));
  });

  async function get(path: string): Promise<{ etag: string; text: string }> {
    const answer = await service.fetch(path);
    expect(answer.status).to.equal(200);
    return { etag: String(answer.headers.get("etag")), text: await answer.text() };
  }

  function raw(method: string, path: string, headers: Record<string, string>) {
    const lines = Object.entries({ host: "a", connection: "close", authorization: service.key, ...headers });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    return rawRequest(service.port, `${method} ${path} HTTP/1.1\r\n${head}\r\n`);
  }
});
