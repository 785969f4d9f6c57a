import { expect } from "chai";
import { canary, expectAlive, head, refusedRaw } from "../support/bad-input.js";
import { rawRequest } from "../support/raw-request.js";
import { valuesOf } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("in invalid HTTP framing,", () => {
  const service = serviceOfSuite();
  afterEach(() => expectAlive(service));

  const json = "Content-Type: application/json";
  const series = { dimension: "stream", dimension_id: "framing", dimension_type: "size" };
  const post = (header: string, body = "{}", path = "/api/metric") =>
    `${head("POST", path, service, [json, ...header.split("\n")])}${body}`;
  const refusals: [string, () => string | Buffer, number[]][] = [
    ["a header of 20 KB", () => head("GET", "/health", service, [`X-A: ${canary.repeat(2000)}`]), [431]],
    ["a URL of 20 KB", () => head("GET", `/health?a=${canary.repeat(2000)}`, service), [414]],
    ["a URL of 100 KB", () => head("GET", `/health?a=${canary.repeat(10_000)}`, service), [414]],
    ["a length and chunks at once", () => post("Content-Length: 2\nTransfer-Encoding: chunked", "0\r\n\r\n"), [400]],
    ["two lengths", () => post("Content-Length: 2\nContent-Length: 3"), [400]],
    ["a negative length", () => post("Content-Length: -2"), [400]],
    ["a length that is no number", () => post(`Content-Length: ${canary}`), [400]],
    ["a bare line feed after a header", () => `GET /health HTTP/1.1\nHost: a\nX-A: ${canary}\n\n`, [400]],
    ["NUL in a header", () => `GET /health HTTP/1.1\r\nHost: a\r\nX-A: ${canary}\0\r\n\r\n`, [400]],
    ["a header without a colon", () => `GET /health HTTP/1.1\r\nHost: a\r\n${canary}\r\n\r\n`, [400]],
    ["a blank before the colon", () => `GET /health HTTP/1.1\r\nHost : a\r\nX-A: ${canary}\r\n\r\n`, [400]],
    ["no Host header", () => `GET /health HTTP/1.1\r\nX-A: ${canary}\r\n\r\n`, [400]],
    ["two Host headers", () => head("GET", "/health", service, [`Host: ${canary}`]), [400]],
    ["two content types", () => head("POST", "/api/metric", service, [json, `Content-Type: ${canary}`]), [400]],
    ["a folded header", () => `GET /health HTTP/1.1\r\nHost: a\r\nX-A: a\r\n ${canary}\r\n\r\n`, [400]],
    ["an endless chunk extension", () => post("Transfer-Encoding: chunked", `5;${canary.repeat(2000)}\r\n`), [400]],
    ["a chunk of a size beyond numbers", () => post("Transfer-Encoding: chunked", `${"f".repeat(18)}\r\na`), [400]],
    ["HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]],
    ["an invalid method", () => `${canary} /health HTTP/1.1\r\nHost: a\r\n\r\n`, [400]],
    ["an invalid version", () => `GET /health HTTP/9.9\r\nHost: a\r\n\r\n`, [400]],
    ["no version", () => `GET /${canary}\r\n\r\n`, [400]],
    [
      "TLS instead of HTTP",
      () => Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
      [400],
    ],
    ["a target that is no path", () => `GET ${canary} HTTP/1.1\r\nHost: a\r\n\r\n`, [400]],
    ["an invalid chunk size", () => post("Transfer-Encoding: chunked", "zz\r\n"), [400]],
    ["another transfer encoding", () => post("Transfer-Encoding: gzip"), [400, 501]],
    ...["gzip, chunked", "identity, chunked", "chunked, chunked", "xchunked", `${canary}, chunked`].map(
      (coding): [string, () => string, number[]] => [
        `the transfer encoding ${coding}`,
        () => {
          const body = JSON.stringify([{ ...series, value: 1, ts: 1767225600000 }]);
          const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
          return post(`Transfer-Encoding: ${coding}`, chunk, "/api/metric/points");
        },
        [400],
      ],
    ),
    ["PUT on an entity", () => head("PUT", `/api/entity/user/email/${canary}`, service, ["Content-Length: 0"]), [405]],
    ["TRACE", () => head("TRACE", "/api/metric", service, [`X-A: ${canary}`]), [405, 501]],
    ["CONNECT", () => head("CONNECT", "a:80", service), [405]],
  ];
  it("1,000 headers are accepted, and one more is refused with 431", async () => {
    const request = (others: number) =>
      `GET /api/segment HTTP/1.1\r\nHost: a\r\n${"a: b\r\n".repeat(others)}Authorization: ${service.key}\r\n\r\n`;
    for (const [others, status] of [
      [997, 200],
      [998, 200],
      [999, 431],
      [2_500, 431],
    ] as const) {
      const answer = await rawRequest(service.port, request(others));
      expect([answer.status, answer.body?.status]).to.deep.equal([status, status]);
    }
  });

  for (const [name, bytes, statuses] of refusals) {
    it(`${name} is answered ${statuses.join(" or ")}`, async () => {
      const answer = await refusedRaw(service, bytes(), ...statuses);
      if (answer.status === 405) expect(answer.headers.get("allow")).to.match(/GET/);
      if (answer.status === 400 || answer.status === 431) {
        const kept = answer.headers.get("connection") === "keep-alive";
        expect(kept && !answer.closed && name.includes("length"), "the connection closes").to.equal(false);
      }
    });
  }

  it("no part of a body in another transfer encoding is stored", async () => {
    expect(await valuesOf(service, { ...series, startdate: 1767225600000, enddate: 1767232800000 })).to.deep.equal([]);
  });

  it("a body that ends too early is refused with 400 or not answered", async () => {
    const answer = await rawRequest(service.port, post("Content-Length: 5"), 300).catch(() => undefined);
    expect(answer?.status ?? 0).to.be.oneOf([0, 400]);
  });

  it("a second request inside a body is not served", async () => {
    const inner = "DELETE /api/entity/user/email/a HTTP/1.1\r\nHost: a\r\n\r\n";
    const answer = await refusedRaw(service, post(`Content-Length: ${inner.length}`, inner), 400);
    expect(answer.text.match(/HTTP\/1\.1/g)).to.equal(null);
  });

  it("an unknown Expect header has no effect on other requests", async () => {
    const answer = await rawRequest(service.port, head("GET", "/health", service, [`Expect: ${canary}`]));
    expect(answer.status).to.equal(200);
  });

  it("an unsupported upgrade is ignored", async () => {
    const answer = await rawRequest(
      service.port,
      head("GET", "/health", service, ["Connection: Upgrade", "Upgrade: websocket"]),
    );
    expect(answer.status).to.equal(200);
  });
});
