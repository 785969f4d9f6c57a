import { Agent, request } from "node:http";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { serviceOfSuite } from "../support/service.js";

const CALLERS = 200;
/** Times that each large body is sent. */
const TIMES = 3;
/** Answers of each kind that have to come. */
const SOME = 50;
const MAX_MS = 60_000;

const json = "application/json";
const ndjson = "application/x-ndjson";
const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: string | Uint8Array;
  /** Status if the service has room. */
  readonly status: number;
}

const small: Sent = { method: "POST", path: "/api/metric", type: json, body: JSON.stringify(series), status: 200 };

/** Large bodies, and bodies that are small as gzip or contain millions of values. */
function largeBodies(): Sent[] {
  const empty = (bytes: number) => `[${Array(Math.floor(bytes / 3)).fill("{}")}]`;
  const ids = Array.from({ length: 4_000 }, (_, i) => `${i}${"x".repeat(200)}`);
  const points = ids.map((dimension_id) => JSON.stringify({ ...series, dimension_id, value: 1, ts: Date.now() }));
  const lines = ids.map((id) => `segment,dimension_id=${id} value=1`);
  const bodies: [path: string, type: string, body: string | Uint8Array, status: number, method?: string][] = [
    ["/collect/json/web", json, gzipSync(empty(2 ** 24)), 413],
    ["/collect/json/web?dryrun=true", json, empty(2 ** 21), 413],
    ["/api/metric/points", json, gzipSync(empty(2 ** 24)), 413],
    ["/api/metric/points", json, empty(2 ** 21), 413],
    ["/api/metric/points", json, `{"series":${empty(2 ** 21)},"ts":[1],"values":[[1]]}`, 413],
    ["/api/metric", json, empty(2 ** 19), 413],
    ["/api/segment/a", json, gzipSync(`{"name":${empty(2 ** 19)}}`), 413, "PUT"],
    ["/api/metric/points", json, `[${points}]`, 200],
    ["/api/metric/points", ndjson, points.join("\n"), 200],
    ["/api/v2/write", "text/plain", lines.join("\n"), 204],
    ["/collect/json/web", ndjson, "{}\n".repeat(8_000), 200],
  ];
  return bodies.map(([path, type, body, status, method = "POST"]) => ({ method, path, type, body, status }));
}

describe("P14: overload", function () {
  this.timeout(2 * MAX_MS);
  const errors: unknown[] = [];
  const log = openLog("silent");
  log.error = (...line: unknown[]) => void errors.push(line);
  // Fewer places than a key has, so that requests are refused with 503, not with 429.
  const service = serviceOfSuite({ limits: { requests: 80, requests_per_key: 120 } }, { log });

  it("by many callers and large bodies is refused with a message, while others and /health are served, until it ends", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS + 4 });
    const counts = { served: 0, shed: 0, large: 0 };
    const strange: string[] = [];
    const end = performance.now() + MAX_MS;
    const large = Array.from({ length: TIMES }, largeBodies).flat();
    const isOver = () => Math.min(counts.served, counts.shed) > SOME || strange.length > 0 || performance.now() > end;

    /** Sends the body in two parts, so that the request is in progress for a while. */
    const call = (options: object, body: string | Uint8Array) =>
      new Promise<{ status: number; retryAfter: string | undefined; text: string }>((resolve, reject) => {
        const sent = request({ port: service.port, host: "127.0.0.1", agent, ...options }, (response) => {
          let text = "";
          response.on("data", (chunk) => (text += chunk));
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], text }),
          );
        });
        sent.on("error", reject);
        sent.write(body.slice(0, 5));
        setTimeout(() => sent.end(body.slice(5)), 30);
      });
    /** Sends a request; resolves with whether it was served. */
    const send = async ({ method, path, type, body, status }: Sent): Promise<boolean> => {
      const encoding = typeof body === "string" ? "identity" : "gzip";
      const headers = { authorization: service.key, "content-type": type, "content-encoding": encoding };
      const answer = await call({ method, path, headers }, body);
      const isShed = (answer.status === 503 || answer.status === 429) && Number(answer.retryAfter) >= 1;
      if (answer.status === status) return true;
      if (!isShed || JSON.parse(answer.text).data !== null)
        strange.push(`${method} ${path} ${type}: ${answer.status} ${answer.text.slice(0, 100)}`);
      return false;
    };
    const caller = async () => {
      for (let next = large.pop(); next !== undefined; next = large.pop()) if (await send(next)) counts.large += 1;
      while (!isOver()) {
        if (await send(small)) counts.served += 1;
        else {
          counts.shed += 1;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const health = async () => {
      while (!isOver()) {
        const { status } = await call({ path: "/health" }, "");
        if (status !== 200) strange.push(`/health ${status}`);
      }
    };
    const total = large.length;
    await Promise.all([...Array.from({ length: CALLERS }, caller), health()]);

    expect(strange.slice(0, 3)).to.deep.equal([]);
    expect(counts.served).to.be.above(SOME);
    expect(counts.shed).to.be.above(SOME);
    expect(counts.large).to.be.within(TIMES, total);
    // A line in the log for each would be one more load.
    expect(errors.slice(0, 3)).to.deep.equal([]);
    for (const one of [small, ...largeBodies()]) expect(await send(one), `${one.path} ${one.type}`).to.equal(true);
    agent.destroy();
  });
});
