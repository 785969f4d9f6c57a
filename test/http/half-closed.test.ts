import { once } from "node:events";
import { expect } from "chai";
import { openSocket } from "../support/raw-request.js";
import { gaugeOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

describe("P16: a caller that closes its side of the connection after its request", () => {
  const service = serviceOfSuite({ cache: { bytes: 0 } });

  const request = (line: string, body?: string, version = "1.1") =>
    `${line} HTTP/${version}\r\nHost: a\r\nAuthorization: ${service.key}\r\n${
      body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    }\r\n${body ?? ""}`;

  /** Sends bytes and closes this side; resolves with the bytes received until the service closes the other side. */
  async function answersTo(bytes: string): Promise<string> {
    const socket = await openSocket(service.port);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.end(bytes);
    await once(socket, "close");
    return text;
  }

  const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };
  const requests: [line: string, body?: string | undefined, version?: string][] = [
    ["GET /api/segment"],
    ["GET /api/segment", undefined, "1.0"],
    ["DELETE /api/entity/user/email/ann%40example.org"],
    ["POST /collect/json/web", '{"_uid":"ann"}'],
    ["POST /api/metric", JSON.stringify(series)],
  ];
  for (const [line, body, version] of requests) {
    it(`receives its response, and then the end of the connection: ${line} ${version ?? "1.1"}`, async () => {
      const text = await answersTo(request(line, body, version));
      expect(text).to.match(/^(HTTP\/1\.1 102 Processing\r\n\r\n)*HTTP\/1\.1 200 OK\r\n/);
      expect(text).to.match(/"status":200.*\}$/s);
    });
  }

  it("receives the responses to all of its pipelined requests, in order", async () => {
    const text = await answersTo(request("GET /api/segment") + request("GET /none") + request("GET /api/experience"));
    expect(text.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200"]);
  });

  it("receives its response after any time and after interim responses; a disconnected caller is noticed", async () => {
    const store = service.service.stores.series;
    const { read } = store;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reads = 0;
    store.read = async (asked) => {
      reads += 1;
      await held;
      return read(asked);
    };
    const gauge = () => gaugeOf(service, "metric_read_bytes");
    try {
      await writePoints(service, [{ ...series, value: 1, ts: Date.now() }]);
      const post = (from: string) => request("POST /api/metric", JSON.stringify({ ...series, range: from }));
      const answer = answersTo(post("3d"));
      await until("its read is under way", () => reads > 0);
      const own = await gauge();
      const other = await openSocket(service.port);
      other.write(post("4d"));
      await until("another read is under way", async () => (await gauge()) > own);
      other.destroy();
      await until("the one that has gone takes no memory", async () => (await gauge()) === own);
      release();
      const text = await answer;
      expect(text).to.match(/^(HTTP\/1\.1 102 Processing\r\n\r\n)+HTTP\/1\.1 200 OK\r\n/);
      expect(text).to.match(/"value":1\b/);
    } finally {
      release();
      store.read = read;
    }
  });
});
