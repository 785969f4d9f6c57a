import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { WriteOrder } from "../../src/metrics/ports.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { until } from "../support/until.js";
import { type Answer, type InfluxAnswers, influxAnswers } from "./influx-answers.js";

const DEADLINE = 2_000;
const from = Date.UTC(2024, 1, 28);
const series = { dimension: stream, id: "an-id", type: "size" };

/** `kept`, or the kind of the error and after how many seconds to come back. */
type Outcome = "kept" | "internal" | `unavailable ${number}`;

const wait = (status: number, seconds: number | string): Answer => ({
  status,
  headers: { "retry-after": String(seconds) },
  body: "{}",
});

describe("P12: a response of InfluxDB", () => {
  let server: InfluxAnswers;
  before(async () => {
    server = await influxAnswers(DEADLINE);
  });
  after(() => server.close());

  const write = (slots = 1, order?: WriteOrder) =>
    server.engine.series.write(
      "clients",
      [{ series, from, values: Float64Array.from({ length: slots }, (_, i) => i) }],
      order,
    );
  const read = async () => [
    ...((await server.engine.series.read([{ series, from, to: from + 2 * HOUR }]))[0] as Float64Array),
  ];

  async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
    let outcome: Outcome = "kept";
    try {
      await work();
    } catch (error) {
      expect(error).to.be.instanceOf(ServiceError);
      const { kind, retryAfter } = error as ServiceError;
      outcome = kind === "unavailable" ? `unavailable ${retryAfter ?? 0}` : (kind as "internal");
    }
    return outcome;
  }

  const writes: [string, Answer[], Outcome, { requests: number; logged?: boolean; late?: boolean }][] = [
    ["204", [204], "kept", { requests: 1 }],
    ["201, a part is kept", [201], "unavailable 1", { requests: 1, logged: true }],
    [
      "200, which no write is answered with",
      [{ status: 200, body: "<html>" }],
      "unavailable 1",
      { late: true, requests: 1 },
    ],
    ["400", [400], "internal", { requests: 1, logged: true }],
    ["401, though the bucket can be seen", [401], "unavailable 1", { requests: 2, logged: true }],
    ["403", [403], "unavailable 1", { requests: 1, logged: true }],
    ["404 and, after a look at the bucket, 204", [404, 204], "kept", { requests: 2 }],
    ["404 for good", [404], "unavailable 1", { requests: 2, logged: true }],
    ["413 for one line", [413], "internal", { requests: 1, logged: true }],
    ["422", [422], "internal", { requests: 1, logged: true }],
    ["429 once", [429, 204], "kept", { requests: 2 }],
    ["429 with a short Retry-After", [wait(429, 1), 204], "kept", { requests: 2 }],
    ["429 with a long Retry-After", [wait(429, 60)], "unavailable 60", { requests: 1 }],
    ["429 for good", [429], "unavailable 1", { requests: 3 }],
    ["500 once", [500, 204], "kept", { late: true, requests: 2 }],
    ["500 for good", [500], "unavailable 1", { late: true, requests: 3 }],
    ["502 and 504, then 204", [502, 504, 204], "kept", { late: true, requests: 3 }],
    ["503 with a Retry-After beyond the deadline", [wait(503, 5)], "unavailable 5", { late: true, requests: 1 }],
    [
      "503 with a Retry-After that is no number",
      [wait(503, "Wed, 21 Oct 2015"), 204],
      "kept",
      { late: true, requests: 2 },
    ],
    ["nothing, once", ["never", 204], "kept", { late: true, requests: 2 }],
    ["nothing, ever", ["never"], "unavailable 1", { late: true, requests: 2 }],
    ["a cut connection, once", ["reset", 204], "kept", { late: true, requests: 2 }],
    ["a cut connection, ever", ["reset"], "unavailable 1", { late: true, requests: 3 }],
    ["half a head, once", ["half a head", 204], "kept", { late: true, requests: 2 }],
    ["half a body, once", ["half a body", 204], "kept", { late: true, requests: 2 }],
    ["half a body, ever", ["half a body"], "unavailable 1", { late: true, requests: 3 }],
  ];
  for (const [what, answers, expected, { requests, logged, late = false }] of writes) {
    it(`to a write: ${what} → ${expected}, ${requests === 1 ? "one request" : `${requests} requests`}`, async () => {
      server.answer(...answers);
      const abandoned: string[] = [];
      const abandon = async () => void abandoned.push("before the end");
      const writing = write(1, { number: 7_000_005, abandon });
      const outcome = await outcomeOf(() => writing.finally(() => abandoned.push("the end")));
      expect(outcome).to.equal(expected);
      expect(abandoned, "if InfluxDB may execute it later").to.deep.equal(
        late ? ["before the end", "the end"] : ["the end"],
      );
      expect(server.bodies).to.deep.equal(
        Array(requests).fill(`stream,dimension_id=an-id,dimension_type=size value=0 ${from + 7}000005\n`),
      );
      if (logged) expect(server.logged.join()).to.match(/did not accept a write/);
      expect(server.logged.join()).not.to.match(/an-id|secret/);
      await until("nothing is under way", () => server.open === 0);
    });
  }

  it("to a write: nothing → its order is abandoned before the next attempt, as the last one ends with the request", async () => {
    let isAbandoned = false;
    server.answer("never", () => (isAbandoned ? 204 : 400));
    await write(1, {
      number: 1,
      async abandon() {
        isAbandoned = true;
      },
    });
    expect(server.bodies).to.have.length(2);
  });

  it("to two writes that share a request: nothing → both orders are abandoned, also if that fails for one of them", async () => {
    server.answer(204, 204, "never", 204);
    const [first, second] = [write(), write()];
    const abandoned: string[] = [];
    const sharing = ["a", "b"].map((name) =>
      write(1, {
        number: 1,
        async abandon() {
          abandoned.push(name);
          throw new ServiceError("unavailable", "away");
        },
      }),
    );
    await Promise.all([first, second]);
    expect((await Promise.allSettled(sharing)).map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect(abandoned).to.deep.equal(["a", "b"]);
  });

  it("to a write: nothing, late → no attempt after the deadline of the whole write", async () => {
    server.answer("never");
    const begun = performance.now();
    const since = begun - 0.75 * DEADLINE;
    await outcomeOf(() => write(1, { number: 1, since, abandon: async () => {} }));
    expect(performance.now() - begun).to.be.below(0.5 * DEADLINE);
  });

  it("to a write: 413 → smaller requests, in order", async () => {
    server.answer(413, 413, 204);
    await write(40_000);
    const [whole = "", half = "", ...parts] = server.bodies;
    expect(parts).to.have.length(3);
    expect(half.startsWith(parts.slice(0, 2).join(""))).to.equal(true);
    expect(parts.join("")).to.equal(whole);
  });

  const csv = `,result,table,_time,_value,_field,dimension_id,dimension_type\r\n,_result,0,2024-02-28T00:00:00Z,7,value,an-id,size\r\n`;
  const text = (body: string | Uint8Array, headers: Record<string, string> = {}): Answer => ({
    status: 200,
    headers: { "content-type": "text/csv; charset=utf-8", ...headers },
    body,
  });
  const whole = text(`${csv}\r\n`);
  const zipped = gzipSync(`${csv}\r\n`);
  const gzip = { "content-encoding": "gzip" };
  const slow = { status: 200, body: `${csv}${"#\n".repeat(10_000)}\r\n`, slow: 1_000 };

  const reads: [string, Answer[], Outcome, { requests: number; logged?: boolean }][] = [
    ["rows to their end", [whole], "kept", { requests: 1 }],
    ["compressed rows to their end", [text(zipped, gzip)], "kept", { requests: 1 }],
    ["rows without their end", [text(csv)], "unavailable 1", { requests: 1 }],
    ["compressed rows without their end", [text(zipped.subarray(0, -12), gzip)], "unavailable 1", { requests: 1 }],
    ["rows that do not uncompress", [text("not gzip", gzip)], "unavailable 1", { requests: 3 }],
    ["no byte", [text("")], "unavailable 1", { requests: 1 }],
    ["an error after rows", [text(`${csv}\r\n\r\n,error,reference\r\n,gone,\r\n`)], "unavailable 1", { requests: 1 }],
    ["the page of a proxy", [text("<html>\n\n")], "unavailable 1", { requests: 1 }],
    ["204", [204], "unavailable 1", { requests: 1 }],
    ["400", [400], "internal", { requests: 1, logged: true }],
    ["401, though the bucket can be seen", [401], "unavailable 1", { requests: 2, logged: true }],
    ["404 and, after a look at the bucket, rows", [404, whole], "kept", { requests: 2 }],
    ["429 with a long Retry-After", [wait(429, 60)], "unavailable 60", { requests: 1 }],
    ["503 once", [503, whole], "kept", { requests: 2 }],
    ["503 for good", [503], "unavailable 1", { requests: 3 }],
    ["nothing, ever", ["never"], "unavailable 1", { requests: 1 }],
    ["a cut connection, once", ["reset", whole], "kept", { requests: 2 }],
    ["a cut in the middle of a row, once", ["half a body", whole], "kept", { requests: 2 }],
    ["a cut in the middle of a row, ever", ["half a body"], "unavailable 1", { requests: 3 }],
    ["1 KB a second", [slow], "unavailable 1", { requests: 1 }],
  ];
  for (const [what, answers, expected, { requests, logged }] of reads) {
    const result = expected === "kept" ? "its values" : expected;
    it(`to a read: ${what} → ${result}, ${requests === 1 ? "one request" : `${requests} requests`}`, async () => {
      server.answer(...answers);
      let values: number[] = [];
      const outcome = await outcomeOf(async () => {
        values = await read();
      });
      expect(outcome).to.equal(expected);
      if (expected === "kept") expect(values).to.deep.equal([7, Number.NaN]);
      expect(server.bodies).to.have.length(requests);
      if (logged) expect(server.logged.join()).to.match(/did not accept a read/);
      expect(server.logged.join()).not.to.match(/an-id|secret/);
      await until("nothing is under way", () => server.open === 0);
    });
  }

  it("to a read: added points of two orders in each of 96 slots → they are read in a few queries", async () => {
    const rows = [5, 6].flatMap((order, table) =>
      Array.from({ length: 96 }, (_, slot) => {
        const time = new Date(from + slot * HOUR).toISOString();
        return `,added,${table},${time},1,added,an-id,size,${order}\r\n`;
      }),
    );
    const header = csv.slice(0, csv.indexOf("\r\n"));
    server.answer(text(`${header},order\r\n${rows.join("")}\r\n`), text("\r\n"));
    await server.engine.series.read([{ series, from, to: from + 96 * HOUR }]);
    expect(server.bodies.length).to.be.within(2, 5);
  });

  it("to one of several queries: an error → the others are abandoned at once", async () => {
    const windows = Array.from({ length: 6 }, (_, i) => {
      const at = from + i * 100_000 * HOUR;
      return { series, from: at, to: at + HOUR };
    });
    const patient = await influxAnswers(60_000);
    patient.answer("never", "never", 400, "never");
    expect(await outcomeOf(() => patient.engine.series.read(windows))).to.equal("internal");
    expect(patient.bodies.length).to.be.within(3, 4);
    await until("nothing is under way", () => patient.open === 0);
    await patient.close();
  });

  it("to a read: 1 KB a second → abandoned at the deadline, also after garbage collection", async () => {
    server.answer(slow);
    let outcome: Outcome | undefined;
    void outcomeOf(read).then((ended) => {
      outcome = ended;
    });
    await until("it is given up", () => {
      collectGarbage();
      return outcome !== undefined;
    });
    expect(outcome).to.equal("unavailable 1");
  });

  it("is not waited for when the service stops", async () => {
    const other = await influxAnswers(60_000);
    other.answer("never");
    const window = { series, from, to: from + HOUR };
    const working = [
      outcomeOf(() => other.engine.series.read([window])),
      outcomeOf(() => other.engine.series.write("clients", [{ series, from, values: Float64Array.of(1) }])),
    ];
    await until("both are under way", () => other.open === 2);
    await other.close();
    for (const outcome of await Promise.all(working)) expect(outcome).to.equal("unavailable 1");
  });
});
