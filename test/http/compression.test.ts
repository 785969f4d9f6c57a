import { createHook } from "node:async_hooks";
import { get } from "node:http";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { head, refusedRaw } from "../support/bad-input.js";
import { rawRequest } from "../support/raw-request.js";
import { serviceOfSuite } from "../support/service.js";

interface Fetched {
  readonly status: number;
  readonly encoding: string | undefined;
  readonly vary: string | undefined;
  readonly bytes: Buffer;
}

describe("a compressed response", () => {
  const service = serviceOfSuite();
  before(async () => {
    for (let i = 0; i < 100; i += 1) {
      await service.fetch(`/api/segment/${String(i).padStart(200, "s")}`, { method: "PUT", json: {} });
    }
  });

  /** Without the decompression of fetch. */
  const fetched = (path: string, acceptEncoding: string): Promise<Fetched> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: service.key, "accept-encoding": acceptEncoding };
      get(`${service.url}${path}`, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("end", () => {
          const { "content-encoding": encoding, vary } = response.headers;
          resolve({ status: response.statusCode ?? 0, encoding, vary, bytes: Buffer.concat(chunks) });
        });
      }).on("error", reject);
    });

  const large = ["/api/segment", "/openapi.json", "/docs/swagger-ui-bundle.js"];
  for (const path of large) {
    it(`to ${path} is sent to a caller that accepts gzip, and contains the bytes of the plain one`, async () => {
      const plain = await fetched(path, "identity");
      const small = await fetched(path, "br, gzip;q=0.8");
      expect([plain.status, plain.encoding, small.status, small.encoding]).to.deep.equal([200, undefined, 200, "gzip"]);
      expect(small.vary).to.include("Accept-Encoding");
      expect(small.bytes.length).to.be.below(plain.bytes.length / 2);
      expect(gunzipSync(small.bytes).equals(plain.bytes)).to.equal(true);
    });
  }

  const nothing = ["gzip;q=0, identity;q=0", "gzip;q=0, *;q=0", "gzip;q=0", "identity;q=0, gzip;q=0.000", "x-gzip;q=0"];
  for (const accept of nothing) {
    it(`is not sent to a caller that accepts no encoding at all (${accept})`, async () => {
      for (const path of [...large, "/health", "/metrics"]) {
        const { status, encoding } = await fetched(path, accept);
        expect([status, encoding], path).to.deep.equal([200, undefined]);
      }
      const point = { dimension: "segment", dimension_id: "a", dimension_type: "size", value: 1, ts: 1767225600000 };
      const body = JSON.stringify([point]);
      const headers = [
        `Accept-Encoding: ${accept}`,
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
      ];
      const written = await rawRequest(service.port, `${head("POST", "/api/metric/points", service, headers)}${body}`);
      expect(written.status).to.equal(200);
      await refusedRaw(service, `GET /api/segment HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accept}\r\n\r\n`, 401);
    });
  }

  const series = "dimension=stream&dimension_id=a&dimension_type=size&interval=1h&include_empty_rows=true";
  const metric = `/api/metric?${series}&startdate=2024-01-01&enddate=2024-02-01`;
  for (const path of ["/openapi.json", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", metric]) {
    it(`to ${path} is compressed once, not for each request`, async () => {
      const plain = await fetched(path, "identity");
      const small = await fetched(path, "gzip");
      expect(small.vary).to.include("Accept-Encoding");
      expect(JSON.stringify(gunzipSync(small.bytes).toString())).to.equal(
        JSON.stringify(plain.bytes.toString().replace('"is_cached":false', '"is_cached":true')),
      );
      let compressions = 0;
      const hook = createHook({
        init(_id, type) {
          if (type === "ZLIB") compressions += 1;
        },
      }).enable();
      try {
        for (let i = 0; i < 5; i += 1) expect((await fetched(path, "gzip")).encoding).to.equal("gzip");
      } finally {
        hook.disable();
      }
      expect(compressions).to.equal(0);
    });
  }
});
