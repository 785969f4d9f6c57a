import { once } from "node:events";
import { Agent, request } from "node:http";
import { expect } from "chai";
import { openSocket, readAnswer } from "../support/raw-request.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const post = (service: TestService, length: number) =>
  `POST /api/metric HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
const series = JSON.stringify({ dimension: "segment", dimension_id: "a", dimension_type: "size" });

describe("P23: a graceful stop", () => {
  it("answers every accepted request under load", async () => {
    const service = await startService();
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    let stopping = false;
    let answered = 0;
    const dropped: string[] = [];

    const once = () =>
      new Promise<void>((resolve) => {
        let sent = false;
        const req = request({
          port: service.port,
          host: "127.0.0.1",
          path: "/metrics",
          agent,
          headers: { authorization: service.key },
        });
        req.on("socket", (socket) => {
          if (socket.connecting) socket.once("connect", () => setImmediate(() => (sent = true)));
          else sent = true;
        });
        req.on("response", (res) => {
          res.resume().on("end", () => {
            if (res.statusCode === 200) answered += 1;
            else dropped.push(String(res.statusCode));
            resolve();
          });
        });
        req.on("error", (error: NodeJS.ErrnoException) => {
          if (sent && error.code !== "ECONNREFUSED" && !stopping) dropped.push(String(error.code));
          if (sent && stopping && req.reusedSocket) dropped.push(`${error.code} on a connection in use`);
          resolve();
        });
        req.end();
      });
    const load = Array.from({ length: 32 }, async () => {
      while (!stopping || answered === 0) await once();
      await once();
    });
    while (answered < 200) await new Promise((resolve) => setImmediate(resolve));
    stopping = true;
    await service.stop();
    await Promise.all(load);
    agent.destroy();
    expect(dropped).to.deep.equal([]);
  });

  it("answers a request that arrived while the process was blocked", async () => {
    const service = await startService();
    const socket = await openSocket(service.port);
    const get = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
    socket.write(get);
    expect((await readAnswer(socket)).status).to.equal(200);
    const stopped = service.stop();
    await until("it listens no more", () => !service.service.server.listening);
    const answer = readAnswer(socket);
    socket.write(get);
    for (const since = performance.now(); performance.now() - since < 500; );
    expect(await answer).to.include({ status: 200, closed: true });
    await stopped;
  });

  it("completes a request that has begun, and answers it with Connection: close", async () => {
    const service = await startService();
    const socket = await openSocket(service.port);
    const begun = once(service.service.server, "request");
    socket.write(`${post(service, series.length)}${series.slice(0, 10)}`);
    await begun;
    const stopped = service.stop();
    const answer = readAnswer(socket);
    await until("it listens no more", () => !service.service.server.listening);
    socket.write(series.slice(10));
    expect(await answer).to.include({ status: 200, closed: true });
    await stopped;
  });

  it("waits no longer than drain_ms for open requests", async () => {
    const service = await startService({ http: { drain_ms: 500 } });
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    const begun = once(service.service.server, "request");
    socket.write(post(service, 1000));
    await begun;
    const began = performance.now();
    await service.stop();
    expect(performance.now() - began).to.be.at.least(400);
  });

  it("does not wait for idle connections", async () => {
    const service = await startService({ http: { drain_ms: 60_000 } });
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    await service.stop();
  });
});
