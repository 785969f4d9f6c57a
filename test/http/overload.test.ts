import { Agent, request } from "node:http";
import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { serviceOfSuite } from "../support/service.js";

const CALLERS = 200;
/** Answers of each kind that have to come. */
const SOME = 50;
const MOST_MS = 15_000;
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
    const end = performance.now() + MOST_MS;
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
