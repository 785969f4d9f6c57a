import { Agent, request } from "node:http";
import { expect } from "chai";
import fc from "fast-check";
import { cpuMs } from "../support/cpu-time.js";
import { documentOf, type OpenApi } from "../support/openapi-walk.js";
import { amount } from "../support/servers.js";
import { newKey, serviceOfSuite } from "../support/service.js";
import { type RandomRequest, randomRequests } from "./random-requests.js";

/** Number of requests; the long run sends more. */
const REQUESTS = Number(process.env.RANDOM_REQUESTS ?? amount(30_000, 2_000));

const AT_ONCE = 50;

/** Number of checks, one per half second, until a request is reported as hanging. A paused machine does not count. */
const CHECKS = 40;
const CHECK_MS = 500;

/** Maximum CPU time of concurrent requests, ms: above it they delay all others. */
const MAX_CPU_MS = 5_000;

describe("P20: no input causes a 5xx, a hang or a crash:", () => {
  const limits = { requests: 1000, requests_per_key: 1000 };
  const service = serviceOfSuite({ limits }, { wrongKeysPerMinute: 1_000_000 });
  let document: OpenApi;
  let reader: string;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const statuses = new Map<number, number>();

  before(async () => {
    ({ plain: document } = await documentOf(service));
    reader = (await newKey(service, ["metric:read", "entity:read"])).key;
  });
  after(() => agent.destroy());

  it(`${REQUESTS} random requests made from the OpenAPI document`, async function () {
    this.timeout(REQUESTS * 20 + 20_000);
    const requests = randomRequests(document, [service.key, service.key, service.key, reader]);
    await fc.assert(
      fc.asyncProperty(fc.array(requests, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (batch) => {
        let answers: Answer[] = [];
        const spent = await cpuMs(async () => {
          answers = await Promise.all(batch.map(send));
        });
        for (const [i, answer] of answers.entries()) expectSane(answer, batch[i] as RandomRequest);
        expect(spent, batch.map(({ method, path }) => `${method} ${path}`).join("\n")).to.be.below(MAX_CPU_MS);
      }),
      { numRuns: Math.ceil(REQUESTS / AT_ONCE), endOnFailure: true },
    );
    expect((await service.fetch("/ready", { key: null })).status).to.equal(200);
    for (const status of [200, 400, 401, 403, 404, 405, 415]) {
      expect(statuses.get(status) ?? 0, `answers of ${status} among ${JSON.stringify([...statuses])}`).to.be.above(10);
    }
  });

  interface Answer {
    readonly status: number;
    readonly type: string;
    readonly text: string;
  }

  function send({ method, path, headers: given, body }: RandomRequest): Promise<Answer> {
    // Node's client sends the body of a GET without a length, so that it reads as the beginning of another request.
    const headers = body === undefined ? given : { ...given, "content-length": String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      const sent = request({ port: service.port, host: "127.0.0.1", agent, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          clearInterval(watch);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          const text = Buffer.concat(chunks).toString();
          resolve({ status, type: headers["content-type"] ?? "", text });
        });
      });
      let checks = 0;
      const watch = setInterval(() => ++checks === CHECKS && sent.destroy(new Error("no answer")), CHECK_MS);
      sent.on("error", (error) => {
        clearInterval(watch);
        reject(new Error(`${method} ${path}: ${error.message}`));
      });
      sent.end(body);
    });
  }

  function expectSane({ status, type, text }: Answer, { method, path }: RandomRequest): void {
    const name = `${method} ${path} → ${status} ${text.slice(0, 300)}`;
    expect(status, name).to.be.within(200, 499);
    if (method === "HEAD" || status === 204 || status === 304) {
      expect(text, name).to.equal("");
      return;
    }
    const page = status === 200 && !/^application\/json/.test(type);
    if (page)
      expect(path, name).to.match(
        /^\/(docs|dashboard|metrics|federate|api\/metric|api\/entity\/export|api\/segment\/[^/]+\/members|api\/deletion(\/[^/]+\/receipt)?$|\?|$)/,
      );
    else expect(JSON.parse(text), name).to.be.an("object");
    if (status >= 400) expect(JSON.parse(text), name).to.include({ status, data: null });
  }
});
