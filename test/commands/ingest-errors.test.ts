import { expect } from "chai";
import { folderOfSuite } from "../support/files.js";
import { type HttpServer, httpServer } from "../support/http-server.js";
import { rejectionsIn, runToEnd, startCommand } from "../support/run-command.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;

describe("ingest, when the service fails or rejects points", function () {
  this.timeout(60_000);
  const { at, file } = folderOfSuite();
  const csv = () => file("points.csv", "ts,value\n2024-06-01,1\n2024-06-01 01:00:00,2\n");
  const args = (url: string, path = csv()) => [path, "--dimension", "stream", "--dimension-id", "orders", "--url", url];

  it("waits as long as a busy service requests, and retries, also after a broken connection", async () => {
    const answers = [
      { status: 503, retryAfter: "1" },
      { status: 429, retryAfter: "1" },
      { status: 0 },
      { status: 200 },
    ];
    const busy = await scripted(answers);
    const began = performance.now();
    const result = await runToEnd("ingest", args(busy.url));
    await busy.close();
    expect(result, result.err).to.include({ code: 0 });
    expect(result.err).to.contain("is busy (503); retrying in 1 s").and.contain("(429)");
    expect(performance.now() - began).to.be.above(2000);
    expect(new Set(busy.bodies).size, "each try sends the same").to.equal(1);
    expect(busy.bodies).to.have.length(4);
  });

  it("ends with a message if a retry cannot help", async () => {
    for (const [status, words] of [
      [500, "answered 500"],
      [403, "answered 403"],
    ] as const) {
      const refusing = await scripted([{ status }]);
      const result = await runToEnd("ingest", args(refusing.url));
      await refusing.close();
      expect(result.code).to.equal(1);
      expect(result.err)
        .to.contain(words)
        .and.contain("Running the same command again is safe")
        .and.not.match(/\n\s+at /);
    }
  });

  it("reports the line of each point older than the retention, and writes the others", async () => {
    const service = await startService({ metrics: { retention: "30d" } });
    const recent = new Date(Date.now() - 2 * HOUR).toISOString();
    const old = Array.from({ length: 500 }, (_, hour) => new Date(Date.UTC(2020, 0, 1) + hour * HOUR).toISOString());
    const path = file("old.csv", `ts,value\n${[...old, recent].map((ts) => `${ts},1`).join("\n")}\n`);
    const rejects = at("rejects.ndjson");
    const result = await runToEnd("ingest", [...args(service.url, path), "--rejects", rejects]);
    await service.stop();
    expect(result.code).to.equal(3);
    expect(result.out).to.contain("501 points read, 1 slot of 1 series written, 500 rejected");
    const named = rejectionsIn(rejects).map(({ line, code }) => [line, code]);
    expect(named).to.deep.equal(old.map((_, i) => [i + 2, "before_retention"]));
    expect(result.err.match(/old\.csv:\d+: rejected: /g)).to.have.length(20);
    expect(result.err).not.to.contain("old.csv:502:");
  });

  it("sends smaller requests to a service that accepts fewer points in one", async () => {
    const service = await startService({ limits: { batch_points: 100 } });
    const lines = Array.from({ length: 1000 }, (_, hour) => `${Date.UTC(2024, 0, 1) + hour * HOUR},1`);
    const path = file("many.csv", `ts,value\n${lines.join("\n")}\n`);
    const result = await runToEnd("ingest", args(service.url, path));
    await service.stop();
    expect(result, result.err).to.include({ code: 0, out: "1000 points read, 1000 slots of 1 series written\n" });
  });

  it("reports where it stopped when it is interrupted, and leaves no file", async () => {
    const silent = await scripted([]);
    const { child, err, ended } = startCommand("ingest", args(silent.url));
    await until("the command sends", () => silent.bodies.length > 0, 30_000);
    child.kill("SIGINT");
    expect(await ended).to.equal(130);
    await silent.close();
    expect(err())
      .to.contain("Stopped. No slot was confirmed as written. Running the same command again is safe")
      .and.not.match(/\n\s+at /);
  });
});

interface Answer {
  /** 0 cuts the connection. */
  readonly status: number;
  readonly retryAfter?: string;
}

/** A server that gives these answers, one after the other, and then none. */
async function scripted(answers: Answer[]): Promise<HttpServer & { bodies: string[] }> {
  const bodies: string[] = [];
  const server = await httpServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    bodies.push(body);
    const answer = answers.shift();
    if (answer === undefined) return;
    if (answer.status === 0) {
      req.socket.destroy();
      return;
    }
    res.writeHead(answer.status, answer.retryAfter === undefined ? {} : { "Retry-After": answer.retryAfter });
    res.end("{}");
  });
  return { ...server, bodies };
}
