import { Agent, request } from "node:http";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { statusOf } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const CALLERS = 200;
/** Answers of each kind that have to come. */
const SOME = 50;
const MAX_MS = 15_000;
const body = JSON.stringify({ dimension: "segment", dimension_id: "a", dimension_type: "size" });

describe("P14: overload", () => {
  const errors: unknown[] = [];
  const log = openLog("silent");
  log.error = (...line: unknown[]) => void errors.push(line);
  // Fewer places than a key has, so that requests are refused with 503, not with 429.
  const service = serviceOfSuite({ limits: { requests: 8, requests_per_key: 12 } }, { log });

  it("is refused with a message, while other requests and /health are served, until it ends", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS + 4 });
    const counts = { served: 0, shed: 0 };
    const strange: string[] = [];
    const end = performance.now() + MAX_MS;
    const isOver = () => Math.min(counts.served, counts.shed) > SOME || performance.now() > end;
    const post = {
      method: "POST",
      path: "/api/metric",
      headers: { authorization: service.key, "content-type": "application/json" },
    };

    const call = (options: object, text: string) =>
      new Promise<{ status: number; retryAfter: string | undefined; text: string }>((resolve, reject) => {
        const sent = request({ port: service.port, host: "127.0.0.1", agent, ...options }, (response) => {
          let text = "";
          response.on("data", (chunk) => (text += chunk));
          response.on("end", () => {
            resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], text });
          });
        });
        sent.on("error", reject);
        // The body arrives in two parts, so that a request is in progress for a while.
        sent.write(text.slice(0, 5));
        setTimeout(() => sent.end(text.slice(5)), 30);
      });

    const caller = async () => {
      while (!isOver()) {
        const { status, retryAfter, text } = await call(post, body);
        const isShed = (status === 503 || status === 429) && Number(retryAfter) >= 1;
        if (status === 200) counts.served += 1;
        else if (isShed && JSON.parse(text).data === null) {
          counts.shed += 1;
          await new Promise((resolve) => setTimeout(resolve, 20));
        } else strange.push(`${status} ${text.slice(0, 100)}`);
      }
    };
    const health = async () => {
      while (!isOver()) {
        const { status } = await call({ path: "/health" }, "");
        if (status !== 200) strange.push(`/health ${status}`);
      }
    };
    await Promise.all([...Array.from({ length: CALLERS }, caller), health()]);
    agent.destroy();

    expect(strange.slice(0, 3)).to.deep.equal([]);
    expect(counts.served).to.be.above(SOME);
    expect(counts.shed).to.be.above(SOME);
    // A line in the log for each would be one more load.
    expect(errors.slice(0, 3)).to.deep.equal([]);
    const after = await service.fetch("/api/metric", { method: "POST", json: JSON.parse(body) });
    expect(after.status).to.equal(200);
  });
});

const json = "application/json";
const ndjson = "application/x-ndjson";
const TIMES = 6;

describe("a flood of large bodies, and of bodies that are small as gzip or contain millions of values", () => {
  const service = serviceOfSuite();

  const empty = (bytes: number) =>
    `[${Array(Math.floor(bytes / 3))
      .fill("{}")
      .join()}]`;
  const point = { dimension: "segment", dimension_id: "a", dimension_type: "size", value: 1, ts: Date.now() };
  const many = Array.from({ length: 4_000 }, (_, i) => ({ ...point, dimension_id: `${i}${"x".repeat(200)}` }));
  const lines = many.map(({ dimension_id }) => `segment,dimension_id=${dimension_id} value=1`).join("\n");
  const [served, refused] = [
    [200, 204, 503],
    [413, 503],
  ];
  const floods: [statuses: number[], path: string, type: string, body: string | Uint8Array, method?: string][] = [
    [refused, "/collect/json/web", json, gzipSync(empty(2 ** 24))],
    [refused, "/collect/json/web?dryrun=true", json, empty(2 ** 21)],
    [refused, "/api/metric/points", json, gzipSync(empty(2 ** 24))],
    [refused, "/api/metric/points", json, empty(2 ** 21)],
    [refused, "/api/metric/points", json, `{"series":${empty(2 ** 21)},"ts":[1],"values":[[1]]}`],
    [refused, "/api/metric", json, empty(2 ** 19)],
    [refused, "/api/segment/a", json, gzipSync(`{"name":${empty(2 ** 19)}}`), "PUT"],
    [served, "/api/metric/points", json, JSON.stringify(many)],
    [served, "/api/metric/points", ndjson, many.map((one) => JSON.stringify(one)).join("\n")],
    [served, "/api/v2/write", "text/plain", lines],
    [served, "/collect/json/web", ndjson, "{}\n".repeat(8_000)],
  ];

  it("is refused or stored, while /health responds", async () => {
    let isDone = false;
    const send = async ([statuses, path, type, body, method = "POST"]: (typeof floods)[number]) => {
      const encoding = typeof body === "string" ? "identity" : "gzip";
      const headers = { "content-type": type, "content-encoding": encoding };
      const answer = await service.fetch(path, { method, body, headers });
      await answer.arrayBuffer();
      expect(answer.status, `${path} ${type}`).to.be.oneOf(statuses);
      if (answer.status === 503) expect(Number(answer.headers.get("retry-after"))).to.be.at.least(1);
      return answer.status;
    };
    const answers = Promise.all(floods.flatMap((flood) => Array.from({ length: TIMES }, () => send(flood)))).finally(
      () => {
        isDone = true;
      },
    );
    while (!isDone) expect(await statusOf(service, "/health")).to.equal(200);
    const statuses = await answers;
    expect(statuses.filter((status) => status < 300)).to.have.length.above(TIMES);
    expect(statuses).to.include(413);
  });
});
