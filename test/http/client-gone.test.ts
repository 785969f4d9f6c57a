import { expect } from "chai";
import { openSocket, rawRequest } from "../support/raw-request.js";
import { startService, type TestService } from "../support/service.js";

const CALLERS = 500;

describe("P16: callers who go", () => {
  let service: TestService;
  before(async () => {
    service = await startService({ limits: { requests: 1000, requests_per_key: 1000 } });
  });
  after(() => service.stop());

  const bodies: [string, string][] = [
    ["before their body is whole", "Content-Length: 5000\r\n\r\n[{"],
    ["with a chunk half sent", "Transfer-Encoding: chunked\r\n\r\n100\r\n[{"],
    [
      "with everything sent",
      'Content-Length: 66\r\n\r\n{"dimension":"segment","dimension_id":"a","dimension_type":"size"}',
    ],
  ];
  for (const [when, rest] of bodies) {
    it(`${when} leave nothing behind`, async () => {
      const head = `POST /api/metric HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nContent-Type: application/json\r\n`;
      const sockets = await Promise.all(Array.from({ length: CALLERS }, () => openSocket(service.port)));
      for (const socket of sockets) {
        socket.on("error", () => {});
        socket.write(`${head}${rest}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (const [i, socket] of sockets.entries()) i % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
      const { connections, requests } = await settled(service);
      expect(connections).to.equal(0);
      expect(requests).to.equal(0);
    });
  }
});

/** Nobody may hold on for so long, ms. A busy machine takes longer for all of them, but not between one and the next. */
const STALLED_MS = 500;

/** What is left once nothing ends any more: connections, and requests. */
async function settled(service: TestService): Promise<{ connections: number; requests: number }> {
  let connections = await connectionsOf(service);
  let since = performance.now();
  while (connections > 0 && performance.now() - since < STALLED_MS) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    const left = await connectionsOf(service);
    if (left < connections) since = performance.now();
    connections = left;
  }
  const head = `GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nConnection: close\r\n\r\n`;
  const { text } = await rawRequest(service.port, head);
  return { connections, requests: Number(/http_requests_under_way (\d+)/.exec(text)?.[1]) };
}

function connectionsOf(service: TestService): Promise<number> {
  return new Promise((resolve) => service.service.server.getConnections((_error, count) => resolve(count)));
}
