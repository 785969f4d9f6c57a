import { Agent, request } from "node:http";
import { expect } from "chai";
import { cpuMs } from "../support/cpu-time.js";
import { documentOf, type OpenApi } from "../support/openapi-walk.js";
import { serviceOfSuite } from "../support/service.js";
import { type LongRequest, longRequests, type TextOf } from "./long-texts.js";

/** Four marks, 10 bytes, whose order `normalize` changes: its time grows with the square of their number. */
const MARKS = "\u0315\u0300\u05ae\u{1d165}";

const texts: readonly [what: string, text: TextOf][] = [
  ["combining marks", (bytes) => MARKS.repeat(bytes / Buffer.byteLength(MARKS))],
  ["digits", (bytes) => "7".repeat(bytes)],
  ["backslashes", (bytes) => "\\".repeat(bytes)],
  ["the name of a time zone, again and again", (bytes) => `America/${"Argentina/".repeat(bytes / 10 - 1)}`],
  ["blanks before a letter", (bytes) => `${" ".repeat(bytes - 1)}x`],
];

const letters: TextOf = (bytes) => "a".repeat(bytes);

/**
 * Maximum CPU time of a request as a multiple of that with as many letters, and additional ms for the garbage of other
 * requests. Quadratic work on 200 KB takes seconds.
 */
const MAX_TIMES = 10;
const ADDITIONAL_MS = 150;

/** Number of measurements of which the least counts. */
const TRIES = 3;

describe("P39: no text of unchecked length meets a built-in that is not linear:", function () {
  this.timeout(120_000);
  const service = serviceOfSuite();
  const agent = new Agent({ keepAlive: true });
  after(() => agent.destroy());
  let document: OpenApi;
  /** CPU ms of each place with letters. */
  const control = new Map<string, number>();

  before(async () => {
    ({ plain: document } = await documentOf(service));
    // The first requests take longer.
    for (const one of longRequests(document, letters)) await send(one);
    for (const one of longRequests(document, letters)) control.set(one.place, await cpuMs(() => send(one)));
    expect(control.size).to.be.above(200);
    expect([...control.keys()]).to.include.members([
      "GET /api/entity/{table}/{fieldname}/{fieldval}, fieldval",
      "POST /collect/json/{stream}, body[].email of application/json",
      "POST /collect/json/{stream}, another value of body[] of application/x-ndjson",
      "POST /api/deletion, body[].value of application/x-ndjson",
      "POST /api/metric, body[].timezone of application/json",
      "POST /v1/batch, body.batch[].context.traits.email of application/json",
      "POST /v1/alias, body.previousId of application/json",
    ]);
  });

  for (const [what, text] of texts) {
    it(`every field of every route accepts or refuses ${what} about as fast as letters`, async () => {
      for (const one of longRequests(document, text)) {
        const most = MAX_TIMES * (control.get(one.place) ?? 0) + ADDITIONAL_MS;
        let least = Number.POSITIVE_INFINITY;
        for (let tries = 0; tries < TRIES && least > most; tries += 1) {
          least = Math.min(least, await cpuMs(async () => expect(await send(one), one.place).to.be.within(200, 499)));
        }
        expect(least, one.place).to.be.below(most);
      }
    });
  }

  /** Sends a request; resolves with the status of the response. */
  function send({ method, path, headers, body }: LongRequest): Promise<number> {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const options = { port: service.port, host: "127.0.0.1", agent, method, path };
    return new Promise((resolve, reject) => {
      const sent = request(
        { ...options, headers: { authorization: service.key, ...length, ...headers } },
        (response) => {
          response.resume();
          response.on("end", () => resolve(response.statusCode ?? 0));
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }
});
