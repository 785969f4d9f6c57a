import type { Socket } from "node:net";
import { expect } from "chai";
import { openSocket } from "../support/raw-request.js";
import { gaugeOf, writePoints } from "../support/requests.js";
import { type Overrides, type StartOptions, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2024, 0, 1);
const SLOTS = 11_000;
/** Bytes that exceed the first chunk of a response. */
const FIRST_BYTES = 100_000;

const stream = { dimension: "stream", dimension_id: "web", dimension_type: "size" };

/** Requests about 0.5 MB in each of `times` items; 12 of them exceed the machine's buffer of a connection. */
const questionOf = (times: number) =>
  JSON.stringify(Array(times).fill({ ...stream, interval: "1h", startdate: START, enddate: START + SLOTS * HOUR }));
const question = questionOf(12);

describe("callers who do not read their responses", () => {
  let service: TestService;

  async function start(overrides: Overrides, options?: StartOptions): Promise<void> {
    service = await startService(overrides, options);
    const ts = Array.from({ length: SLOTS }, (_, i) => START + i * HOUR);
    const json = { series: [stream], ts, values: [ts.map((_, i) => i + 0.123456789)] };
    await writePoints(service, json);
  }

  const asked = (body: string, path: string) => {
    const headers = `Host: a\r\nAuthorization: ${service.key}\r\nContent-Type: application/json`;
    return `POST ${path} HTTP/1.1\r\n${headers}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };

  /** Sends `times` requests on one connection, and reads only the beginning of the response. */
  async function askAndWait({ times = 1, body = question, path = "/api/metric" } = {}): Promise<Socket> {
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    socket.write(asked(body, path).repeat(times));
    const first = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    socket.pause();
    expect(first.subarray(0, 15).toString()).to.equal("HTTP/1.1 200 OK");
    return socket;
  }

  const status = async () => {
    const response = await service.fetch("/api/segment");
    await response.arrayBuffer();
    return response.status;
  };

  it("count as requests of their key until the responses are sent", async () => {
    await start({ limits: { requests_per_key: 3 } });
    const [first] = await Promise.all([askAndWait(), askAndWait(), askAndWait()]);
    expect(await status()).to.equal(429);
    first?.resume();
    await until("a place is free", async () => (await status()) === 200);
  });

  it("count as requests of the service", async () => {
    await start({ limits: { requests: 2 } });
    await Promise.all([askAndWait(), askAndWait()]);
    expect(await status()).to.equal(503);
  });

  it("count no longer when they disconnect, including their pipelined requests", async () => {
    await start({ limits: { requests_per_key: 3 } });
    const socket = await askAndWait({ times: 3 });
    await until("all places are taken", async () => (await status()) === 429);
    socket.destroy();
    await until("the places are free", async () => (await status()) === 200);
    const both = await Promise.all([askAndWait(), askAndWait()]);
    expect(await status()).to.equal(200);
    for (const socket of both) socket.destroy();
  });

  it("are disconnected after they have read nothing for the time of a slow reader", async () => {
    await start({}, { slowTimes: { senderMs: 15_000, readerMs: 1000 } });
    await Promise.all(Array.from({ length: 4 }, () => askAndWait()));
    const began = performance.now();
    expect(await connections()).to.be.at.least(4);
    await until("they are closed", async () => (await connections()) <= 1);
    expect(performance.now() - began).to.be.at.least(900);
  });

  it("are not disconnected while they read, however slowly", async () => {
    const ms = 1000;
    await start({ limits: { response_values: 1_000_000 } }, { slowTimes: { senderMs: 15_000, readerMs: ms } });
    const body = questionOf(40);
    const answer = await service.fetch("/api/metric", { method: "POST", json: JSON.parse(body) });
    const whole = (await answer.arrayBuffer()).byteLength;
    const socket = await askAndWait({ body });
    let taken = 0;
    let gulp = 0;
    socket.on("data", (chunk) => {
      taken += chunk.length;
      gulp += chunk.length;
      if (gulp > whole / 8) socket.pause();
    });
    while (taken < whole - FIRST_BYTES && !socket.closed) {
      await new Promise((resolve) => setTimeout(resolve, 0.6 * ms));
      gulp = 0;
      socket.resume();
      await until("a part is taken", () => socket.isPaused() || taken >= whole - FIRST_BYTES || socket.closed);
    }
    expect(taken).to.be.at.least(whole - FIRST_BYTES);
  });

  it("cannot fill the memory: another large response is refused with 503, and a small one is sent", async () => {
    // A read takes 10.6 MB by estimate, and its answer 6 MB.
    await start({ limits: { read_bytes: 17_000_000 } });
    const readers = [await askAndWait(), await askAndWait()];
    const large = () => service.fetch("/api/metric", { method: "POST", json: JSON.parse(question) });
    const refused = await large();
    expect(refused.status).to.equal(503);
    expect(Number(refused.headers.get("retry-after"))).to.be.at.least(1);
    expect(await refused.json()).to.include({ status: 503, data: null });
    expect(await status()).to.equal(200);
    for (const socket of readers) socket.destroy();
    await until("there is room", async () => (await large()).status === 200);
  });

  it("have memory reserved for cached series as CSV until it is read", async () => {
    await start({});
    const reserved = () => gaugeOf(service, "metric_read_bytes");
    const path = "/api/metric?format=csv";
    const answer = await service.fetch(path, { method: "POST", json: JSON.parse(question) });
    expect((await answer.arrayBuffer()).byteLength).to.be.greaterThan(6_000_000);
    await until("the memory is free", async () => (await reserved()) === 0);
    const socket = await askAndWait({ path });
    expect(await reserved()).to.be.greaterThan(5_000_000);
    socket.destroy();
    await until("the memory is free again", async () => (await reserved()) === 0);
  });

  it("may request one response that is larger than the limit of memory", async () => {
    await start({ limits: { read_bytes: 2 ** 20 } });
    await askAndWait();
  });

  function connections(): Promise<number> {
    return new Promise((resolve) => service.service.server.getConnections((_error, count) => resolve(count)));
  }
});
