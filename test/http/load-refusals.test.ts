import type { Socket } from "node:net";
import { expect } from "chai";
import { openSocket, type RawAnswer, rawRequest, readAnswer } from "../support/raw-request.js";
import { pointOf, valuesOf } from "../support/requests.js";
import { type Overrides, type StartOptions, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const START = Date.UTC(2024, 0, 1);
const HOUR = 3_600_000;

describe("a service at its limit of requests in flight", () => {
  let service: TestService;
  let holder: Socket;

  /** Starts a service that may have one request in flight, and holds one. */
  async function startFull(overrides: Overrides = {}, options?: StartOptions): Promise<void> {
    service = await startService({ limits: { requests: 1 }, ...overrides }, options);
    holder = await connected();
    holder.write(post("/api/metric/points", ["Expect: 100-continue", "Content-Length: 100"]));
    await new Promise((resolve) => holder.once("data", resolve));
  }

  async function connected(): Promise<Socket> {
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    return socket;
  }

  async function endHeld(): Promise<void> {
    holder.write("x".repeat(100));
    await readAnswer(holder);
  }

  function post(path: string, headers: readonly string[], body = ""): string {
    const all = ["Host: a", `Authorization: ${service.key}`, "Content-Type: application/json", ...headers];
    return `POST ${path} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${body}`;
  }

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

  async function ask(socket: Socket, bytes: string): Promise<RawAnswer> {
    const answer = readAnswer(socket);
    socket.write(bytes);
    return answer;
  }

  it("refuses requests in the format of every error, with Retry-After and a request id", async () => {
    await startFull();
    const { status, headers, body } = await rawRequest(service.port, post("/api/metric", ["Content-Length: 2"], "[]"));
    expect(status).to.equal(503);
    expect(headers.get("retry-after")).to.equal("1");
    expect(headers.get("content-type")).to.equal("application/json; charset=utf-8");
    expect(headers.get("x-content-type-options")).to.equal("nosniff");
    expect(headers.get("cache-control")).to.equal("no-store");
    expect(headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
    const message = "Too many requests in flight; try again";
    const errors = [{ code: "busy", path: "", message }];
    expect(body).to.deep.equal({ status: 503, message, data: null, errors });
  });

  it("refuses requests on any route, however its path is written, with headers that let any page read the refusal", async () => {
    await startFull();
    for (const target of [
      "/api/metric?format=csv",
      "/%61pi/metric",
      "http://a/api/metric",
      "/api/deletion/a%20b/retry",
      "/collect/json/a",
    ]) {
      const headers = ["Content-Length: 2", "Origin: https://a.example"];
      const answer = await rawRequest(service.port, post(target, headers, "[]"));
      expect([answer.status, answer.headers.get("retry-after")], target).to.deep.equal([503, "1"]);
      expect(answer.headers.get("access-control-allow-origin"), target).to.equal("*");
    }
  });

  it("refuses line protocol with an error code that clients of InfluxDB read", async () => {
    await startFull();
    const { body } = await rawRequest(service.port, post("/api/v2/write", ["Content-Length: 2"], "[]"));
    expect(body).to.include({ status: 503, code: "unavailable" });
  });

  it("refuses a key with too many requests in flight before its body is read, and no other key", async () => {
    await startFull({ limits: { requests_per_key: 1 } });
    const lines = ["Expect: 100-continue", "Content-Length: 2"];
    const { status, headers, body, text } = await rawRequest(service.port, post("/api/metric", lines));
    expect([status, headers.get("retry-after")]).to.deep.equal([429, "1"]);
    expect(text).to.not.include("100 Continue");
    expect(body).to.deep.include({ status: 429, message: "Too many concurrent requests with this key", data: null });
    expect((await service.fetch("/api/metric", { method: "POST", json: [], key: "em_x_1" })).status).to.equal(401);
    expect((await service.fetch("/metrics")).status).to.equal(200);
    await endHeld();
    expect((await service.fetch("/api/segment")).status).to.equal(200);
  });

  const hidden = `${get("/health")}`;
  const bodies: [string, string[], string][] = [
    ["of a given length", [`Content-Length: ${hidden.length}`], hidden],
    ["in chunks", ["Transfer-Encoding: chunked"], `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`],
  ];
  for (const [name, headers, body] of bodies) {
    it(`does not read a refused body ${name} as a request, and answers the next request on the connection`, async () => {
      await startFull();
      const socket = await connected();
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.write(
        `${post("/api/metric", headers, body)}${get("/ping")}${post("/api/metric", headers, body)}${get("/ready")}`,
      );
      await until("all are answered", () => text.includes('"stores"'));
      expect(text.match(/HTTP\/1\.1 \d{3}/g)?.map((line) => line.slice(9))).to.deep.equal(["503", "204", "503", "200"]);
      expect(text).to.not.include('"alive"');
    });
  }

  it("keeps the connection of a refused request whose body arrives late, and serves only its next request", async () => {
    await startFull();
    const socket = await connected();
    const [refused, accepted] = [0, 1].map((value) => JSON.stringify([pointOf("stream", "web", value, START)])) as [
      string,
      string,
    ];
    const headers = [`Content-Length: ${accepted.length}`];
    const { status } = await ask(socket, post("/api/metric/points", headers, refused.slice(0, 10)));
    expect(status).to.equal(503);
    await endHeld();
    const second = await ask(socket, `${refused.slice(10)}${post("/api/metric/points", headers, accepted)}`);
    expect(second.body).to.deep.include({ status: 200, data: { point_count: 1 } });
    const window = { interval: "1h", startdate: START, enddate: START + HOUR };
    const query = { dimension: "stream", dimension_id: "web", ...window };
    expect(await valuesOf(service, query)).to.deep.equal([[START, 1]]);
  });

  it("closes the connection of a refused request whose body does not arrive", async () => {
    await startFull({}, { slowTimes: { senderMs: 1000, readerMs: 30_000 } });
    const socket = await connected();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(post("/api/metric", ["Content-Length: 100"], "x"));
    await new Promise((resolve) => socket.once("data", resolve));
    await closed;
  });

  it("closes the connection of a refused request with Expect: 100-continue, and does not request its body", async () => {
    await startFull();
    const bytes = post("/api/metric", ["Expect: 100-continue", "Content-Length: 100"]);
    const { status, headers, closed, text } = await rawRequest(service.port, bytes);
    expect({ status, connection: headers.get("connection"), closed }).to.deep.equal({
      status: 503,
      connection: "close",
      closed: true,
    });
    expect(text).to.not.include("100 Continue");
  });

  it("refuses HEAD without a body", async () => {
    await startFull();
    const socket = await connected();
    socket.write("HEAD /api/segment HTTP/1.1\r\nHost: a\r\n\r\n");
    const text = String(await new Promise((resolve) => socket.once("data", resolve)));
    expect(text).to.match(/^HTTP\/1\.1 503 /);
    expect(text.endsWith("\r\n\r\n")).to.equal(true);
    expect((await ask(socket, get("/health"))).body?.data).to.deep.equal({ alive: true });
  });

  it("answers pages, health checks, preflights and unknown paths, and counts refused requests", async () => {
    await startFull({ http: { cors: { origins: ["https://a.example"] } } });
    const origin = { origin: "https://a.example" };
    const preflight = { ...origin, "access-control-request-method": "POST" };
    const asked = await service.fetch("/api/metric", { method: "OPTIONS", key: null, headers: preflight });
    expect(asked.status).to.equal(204);
    const refused = await service.fetch("/api/metric", { method: "POST", json: [], headers: origin });
    expect(refused.status).to.equal(503);
    expect(refused.headers.get("access-control-allow-origin")).to.equal("*");
    expect((await service.fetch("/api/metric", { method: "POST", json: [] })).status).to.equal(503);
    for (const path of ["/api/segment/a", "/federate?match[]=a", "/federate"])
      expect((await service.fetch(path)).status, path).to.equal(503);
    for (const path of ["/health", "/ready", "/", "/docs", "/openapi.json"])
      expect((await service.fetch(path)).status, path).to.equal(200);
    expect((await service.fetch("/nothing")).status).to.equal(404);
    const metrics = await (await service.fetch("/metrics")).text();
    const counted = (labels: string) => metrics.includes(`entity_metrics_http_request_seconds_count{${labels}} `);
    expect(counted('method="other",route="none",status="503"')).to.equal(true);
  });
});
