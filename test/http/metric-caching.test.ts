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
