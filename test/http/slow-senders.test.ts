import { expect } from "chai";
import { openSocket, type RawAnswer, readAnswer } from "../support/raw-request.js";
import { serviceOfSuite } from "../support/service.js";

const SLOW_MS = 1500;

/** The start of a gzip stream: a head, and an uncompressed block of 65,535 bytes. */
const STORED_BLOCK = "\x1f\x8b\x08\0\0\0\0\0\0\x03\0\xff\xff\0\0";

describe("slow senders", () => {
  const service = serviceOfSuite(
    {
      limits: { requests_per_key: 1000, requests: 2000, store_deadline_ms: SLOW_MS },
    },
    { slowTimes: { senderMs: SLOW_MS, readerMs: 30_000 } },
  );

  /** Sends `first` at once and then single bytes at intervals, until the connection closes. */
  async function trickle(first: string, byte: string): Promise<RawAnswer & { lasted: number }> {
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    const began = performance.now();
    const timer = setInterval(() => socket.writable && socket.write(byte, "latin1"), SLOW_MS / 15);
    if (first !== "") socket.write(first, "latin1");
    try {
      const answer = await readAnswer(socket);
      return { ...answer, lasted: performance.now() - began };
    } finally {
      clearInterval(timer);
      socket.destroy();
    }
  }

  const head = (extra: string) =>
    `POST /api/metric/points HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\n${extra}`;
  const json = "Content-Type: application/json\r\n";
  const senders: [string, () => string, string][] = [
    ["the head", () => "GET /health HTTP/1.1\r\nX-A: ", "a"],
    ["the request line", () => "GET /", "a"],
    ["a body of known length", () => head(`${json}Content-Length: 100000\r\n\r\n`), " "],
    ["a chunked body", () => head(`${json}Transfer-Encoding: chunked\r\n\r\n`), "1\r\n \r\n"],
    [
      "lines of JSON",
      () => head("Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"),
      "1\r\n \r\n",
    ],
    ["gzip", () => head(`${json}Content-Encoding: gzip\r\nContent-Length: 10000\r\n\r\n${STORED_BLOCK}`), " "],
  ];
  it("are answered with 408 and disconnected, or only disconnected if they send nothing", async () => {
    const slow = senders.map(async ([what, first, byte]) => {
      for (const answer of await Promise.all(Array.from({ length: 40 }, () => trickle(first(), byte)))) {
        expect(answer, what).to.include({ status: 408, closed: true });
        expect(answer.body?.data, what).to.equal(null);
        expect(answer.lasted, what).to.be.at.least(SLOW_MS * 0.8);
      }
    });
    const silent = trickle("", "");
    expect((await service.fetch("/health", { key: null })).status).to.equal(200);
    await Promise.all(slow);
    expect((await silent).closed).to.equal(true);
  });

  it("may be idle between two requests for longer than proxies allow, so that the proxy closes the connection", async () => {
    const response = await service.fetch("/health", { key: null });
    const [, seconds] = /^timeout=(\d+)$/.exec(response.headers.get("keep-alive") ?? "") ?? [];
    expect(Number(seconds)).to.be.above(120);
  });

  it("are served while they make progress, also for longer than a store may take", async () => {
    const parts = 5;
    const series = '{"dimension":"stream","dimension_id":"web","dimension_type":"size"}';
    const sent = [
      ["POST /collect/json/web", "application/x-ndjson", '{"email":"a@b.de"}\n', 200],
      ["POST /api/metric", "application/json", series, 200],
      ["PUT /api/segment/a", "application/json", '{"name":"A"}', 200],
      ["POST /api/v2/write", "text/plain", "stream,dimension_id=web value=1\n", 204],
    ].map(async ([target, type, text, status]) => {
      const body = String(text).padEnd(parts * 400);
      const socket = await openSocket(service.port);
      const head = `${target} HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nContent-Type: ${type}\r\n`;
      socket.write(`${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
      const answer = readAnswer(socket, 20_000);
      for (let part = 0; part < parts; part += 1) {
        await new Promise((resolve) => setTimeout(resolve, SLOW_MS / 2));
        socket.write(body.slice(part * 400, (part + 1) * 400));
      }
      expect((await answer).status, String(target)).to.equal(status);
      socket.destroy();
    });
    await Promise.all(sent);
  });
});
