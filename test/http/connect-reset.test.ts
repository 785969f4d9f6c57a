import { once } from "node:events";
import { expect } from "chai";
import { openSocket } from "../support/raw-request.js";
import { adminKey, serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

describe("a caller that resets its connection", () => {
  const service = serviceOfSuite();

  const connect = "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n";
  const before = `POST /api/metric HTTP/1.1\r\nHost: a\r\nAuthorization: ${adminKey}\r\n\r\n`;
  const resets: [string, string, string][] = [
    ["CONNECT", "connect", connect],
    ["CONNECT behind another request", "connect", `${before}${connect}`],
    ["a request to upgrade", "request", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
    ["bytes that are no request", "clientError", "no request\r\n\r\n"],
    [
      "a request with Expect",
      "checkContinue",
      `${before.slice(0, -2)}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    ],
  ];
  for (const [what, event, bytes] of resets) {
    it(`before the response to ${what} does not end the process`, async () => {
      const { server } = service.service;
      const socket = await openSocket(service.port);
      const reset = once(socket, "close");
      server.prependOnceListener(event, () => socket.resetAndDestroy());
      socket.write(bytes);
      await reset;
      await until(
        "the connection is gone",
        () => new Promise((resolve) => server.getConnections((_, count) => resolve(count === 0))),
      );
      expect((await service.fetch("/health", { headers: { connection: "close" } })).status).to.equal(200);
    });
  }
});
