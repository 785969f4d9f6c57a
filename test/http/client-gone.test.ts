import { openSocket, rawRequest } from "../support/raw-request.js";
import { serviceOfSuite, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const CALLERS = 500;

describe("P16: 500 callers who disconnect", () => {
  const service = serviceOfSuite({ limits: { requests: 1000, requests_per_key: 1000 } });

  const read = "POST /api/metric";
  const put = "PUT /api/segment/a";
  const bodies: [string, string, string][] = [
    [read, "in the middle of the body", "Content-Length: 5000\r\n\r\n[{"],
    [read, "in the middle of a chunk", "Transfer-Encoding: chunked\r\n\r\n100\r\n[{"],
    [
      read,
      "after the whole body",
      'Content-Length: 66\r\n\r\n{"dimension":"segment","dimension_id":"a","dimension_type":"size"}',
    ],
    [put, "in the middle of gzip", "Content-Encoding: gzip\r\nContent-Length: 5000\r\n\r\n\x1f"],
    [
      put,
      "in the middle of a chunk of gzip",
      "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n\x1f",
    ],
  ];
  for (const [route, when, rest] of bodies) {
    it(`from ${route} ${when} leave no connection and no request behind`, async () => {
      const head = `${route} HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nContent-Type: application/json\r\n`;
      let begun = 0;
      const begins = () => {
        begun += 1;
      };
      service.service.server.on("request", begins);
      const sockets = await Promise.all(Array.from({ length: CALLERS }, () => openSocket(service.port)));
      for (const socket of sockets) {
        socket.on("error", () => {});
        socket.write(`${head}${rest}`);
      }
      await until("every request has begun", () => begun === CALLERS);
      service.service.server.off("request", begins);
      for (const [i, socket] of sockets.entries()) i % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
      await until("their connections are gone", async () => (await connectionsOf(service)) === 0);
      await until("their requests are over", async () => (await requestsOf(service)) === 0);
    });
  }
});

async function requestsOf(service: TestService): Promise<number> {
  const head = `GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nConnection: close\r\n\r\n`;
  const { text } = await rawRequest(service.port, head);
  return Number(/http_requests_under_way (\d+)/.exec(text)?.[1]);
}

function connectionsOf(service: TestService): Promise<number> {
  return new Promise((resolve) => service.service.server.getConnections((_error, count) => resolve(count)));
}
