import type { Socket } from "node:net";
import { expect } from "chai";
import { canary, expectError, head } from "../support/bad-input.js";
import { openSocket } from "../support/raw-request.js";
import { gaugeOf, pointOf, valuesOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2024, 0, 1);

/** All responses of a connection in order, and how the connection ended. */
interface Conversation {
  readonly statuses: number[];
  readonly bodies: { status: number; data: unknown; errors?: unknown[] }[];
}

describe("of pipelined requests,", () => {
  let slot = 0;
  const service = serviceOfSuite({}, { slowTimes: { senderMs: 1000, readerMs: 30_000 } });

  const post = (headers: string[], body: string) => `${head("POST", "/api/metric/points", service, headers)}${body}`;
  const json = "Content-Type: application/json";

  /** A write of one point to a slot of its own. */
  function write(...headers: string[]): { bytes: string; ts: number } {
    const ts = START + slot++ * HOUR;
    const body = JSON.stringify([pointOf("stream", "web", 1, ts)]);
    return { ts, bytes: post([json, `Content-Length: ${body.length}`, ...headers], body) };
  }

  async function isKept(ts: number): Promise<boolean> {
    const window = { interval: "1h", startdate: ts, enddate: ts + HOUR };
    return (await valuesOf(service, { dimension: "stream", dimension_id: "web", ...window })).length === 1;
  }

  async function conversation(bytes: string, then?: (socket: Socket) => void): Promise<Conversation> {
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(Buffer.from(bytes, "latin1"));
    then?.(socket);
    await closed;
    expect(text).to.not.include(canary);
    const answers = text.split(/(?=HTTP\/1\.1 \d{3} )/).filter((answer) => answer !== "");
    return {
      statuses: answers.map((answer) => Number(answer.slice(9, 12))),
      bodies: answers.map((answer) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))),
    };
  }

  const garbage: [string, () => string, number][] = [
    ["garbage", () => `${canary}\r\n\r\n`, 400],
    ["a bare line feed", () => "GET /health HTTP/1.1\nHost: a\n\n", 400],
    ["a header of 20 KB", () => head("GET", "/health", service, [`X-A: ${canary.repeat(2000)}`]), 431],
    ["a URL of 20 KB", () => head("GET", `/health?a=${canary.repeat(2000)}`, service), 431],
    ["an invalid length", () => post([json, `Content-Length: ${canary}`], "{}"), 400],
    ["an invalid chunk size", () => post([json, "Transfer-Encoding: chunked"], "zz\r\n"), 400],
    ["CONNECT", () => head("CONNECT", "a:80", service), 405],
  ];
  for (const [name, bytes, status] of garbage) {
    it(`a write has its own response, and ${name} after it is answered with ${status}`, async () => {
      const { bytes: good, ts } = write();
      const { statuses, bodies } = await conversation(`${good}${bytes()}`);
      expect(statuses).to.deep.equal([200, status]);
      expect(bodies[0]).to.deep.include({ status: 200, data: { point_count: 1 } });
      expectError({ status, body: bodies[1], text: JSON.stringify(bodies[1]) }, status);
      expect(await isKept(ts)).to.equal(true);
    });
  }

  it("each of several writes has its own response, and garbage after them is refused", async () => {
    const writes = [write(), write(), write()];
    const bytes = writes.map((one) => one.bytes).join("");
    const { statuses } = await conversation(`${bytes}${canary}\r\n\r\n`, (socket) => {
      socket.write(`${canary}\r\n\r\n`);
    });
    expect(statuses).to.deep.equal([200, 200, 200, 400]);
    for (const { ts } of writes) expect(await isKept(ts)).to.equal(true);
  });

  it("a write has its own response if the next request ends in the middle of its head", async () => {
    const { bytes, ts } = write();
    const { statuses } = await conversation(`${bytes}GET /health HT`, (socket) => socket.end());
    expect(statuses[0]).to.equal(200);
    expect(statuses.slice(1)).to.be.deep.oneOf([[], [400]]);
    expect(await isKept(ts)).to.equal(true);
  });

  it("a write has its own response if the head of the next request does not arrive in time", async () => {
    const { bytes, ts } = write();
    const { statuses } = await conversation(`${bytes}GET /health HTTP/1.1\r\nX-A: `);
    expect(statuses).to.deep.equal([200, 408]);
    expect(await isKept(ts)).to.equal(true);
  });

  it("none after a request with Connection: close is answered", async () => {
    const { bytes, ts } = write("Connection: close");
    expect((await conversation(`${bytes}${canary}\r\n\r\n`)).statuses).to.deep.equal([200]);
    expect(await isKept(ts)).to.equal(true);
  });

  it("none remains in flight if the caller disconnects during the first", async () => {
    const { series } = service.service.stores;
    const { read } = series;
    const held = pointOf("segment", "held", 1, Date.now());
    await writePoints(service, [held]);
    const { value: _, ts: __, ...asked } = held;
    const body = JSON.stringify(asked);
    const reading = `${head("POST", "/api/metric", service, [json, `Content-Length: ${body.length}`])}${body}`;
    let reads = 0;
    series.read = () => {
      reads += 1;
      return new Promise(() => {});
    };
    const socket = await openSocket(service.port);
    socket.write(reading + head("GET", "/api/segment", service).repeat(3));
    await until("the first is read", () => reads > 0).finally(() => {
      series.read = read;
    });
    socket.destroy();
    await until("none is in flight", async () => (await gaugeOf(service, "http_requests_under_way")) === 0);
  });

  it("one that was refused is not refused again for its body", async () => {
    const refused = `POST /api/metric HTTP/1.1\r\nHost: a\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const socket = await openSocket(service.port);
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      if (text === "") socket.write("zz\r\n");
      text += chunk;
    });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(refused);
    await closed;
    expect(text.match(/HTTP\/1\.1 \d{3}/g)).to.deep.equal(["HTTP/1.1 401"]);
  });
});
