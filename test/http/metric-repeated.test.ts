import { expect } from "chai";
import fc from "fast-check";
import { startService, type TestService } from "../support/service.js";

const HOUR = 3_600_000;
const START = Date.parse("2026-03-02T10:17:00Z");

const questions = [
  { dimension: "stream", dimension_id: "s", dimension_type: "size", interval: "1h", range: "6h" },
  {
    dimension: "stream",
    dimension_id: "s",
    dimension_type: "size",
    interval: "15m",
    range: "5h",
    include_empty_rows: true,
  },
  { dimension: "stream", dimension_id: "s", dimension_type: "size", startdate: "now-1d", smooth: true },
  { dimension: "stream", dimension_id: "s", dimension_type: "size", startdate: "2026-03-02", enddate: "2026-03-03" },
  {
    dimension: "stream",
    dimension_id: "s",
    dimension_type: "size",
    startdate: "2026-03-02",
    enddate: "2026-03-03",
    include_empty_rows: true,
  },
  { dimension: "stream", dimension_id: "s", dimension_type: "size", startdate: "2026-03-02" },
  { dimension: "stream", dimension_id: "s", dimension_type: "size", startdate: "now-7h", enddate: "now-2h" },
  { dimension: "segment", dimension_id: "g", dimension_type: "size", interval: "1w", range: "2w" },
  { dimension: "segment", dimension_id: "all_segments", dimension_type: "size", range: "1d" },
];

type Step = { advance: number } | { write: number; slotsBack: number } | { ask: number };

const step = fc.oneof(
  fc.record({ advance: fc.constantFrom(1, 4_000, 61_000, 15 * 60_000, HOUR, 7 * HOUR, -20 * 60_000) }),
  fc.record({ write: fc.integer({ min: 1, max: 99 }), slotsBack: fc.integer({ min: 0, max: 8 }) }),
  fc.record({ ask: fc.nat(questions.length - 1) }),
  fc.record({ ask: fc.nat(questions.length - 1) }),
);

const RUNS = 60;

const MOST_STEPS = 40;

describe("a question asked again in the same words", () => {
  let service: TestService;
  let now = START;

  before(async () => {
    service = await startService({ roles: ["api"] }, { clock: () => now });
    await service.fetch("/api/segment/g", { method: "PUT", json: {} });
  });

  after(() => service.stop());

  it("has the answer that it has in other words, at any time and after any write", async function () {
    // A step is three requests at most.
    this.timeout(RUNS * MOST_STEPS * 3 * 20);
    let words = 0;
    /** Blanks make other words of the same question. */
    const answerTo = async (question: object, blanks: number) => {
      const body = `[${" ".repeat(blanks)}${JSON.stringify(question)}]`;
      const headers = { "Content-Type": "application/json" };
      return (await service.fetch("/api/metric", { method: "POST", body, headers })).json();
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: MOST_STEPS }), async (steps: Step[]) => {
        for (const each of steps) {
          if ("advance" in each) now += each.advance;
          else if ("write" in each) await write(each.write, each.slotsBack);
          else {
            const question = questions[each.ask] as object;
            words += 1;
            const other = await answerTo(question, words);
            const again = [await answerTo(question, 0), await answerTo(question, 0)];
            for (const answer of again) expect(withoutCached(answer)).to.deep.equal(withoutCached(other));
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  it("is counted, and says that no store was read", async () => {
    const body = JSON.stringify(questions[3]);
    const headers = { "Content-Type": "application/json" };
    const ask = async () => (await service.fetch("/api/metric", { method: "POST", body, headers })).json();
    const counted = async () => /series_cached_total (\d+)/.exec(await (await service.fetch("/metrics")).text())?.[1];
    await ask();
    await ask();
    const before = Number(await counted());
    const answer = (await ask()) as { data: { is_cached: boolean }[] };
    expect(answer.data[0]?.is_cached).to.equal(true);
    expect(Number(await counted()) - before).to.equal(1);
  });

  async function write(value: number, slotsBack: number): Promise<void> {
    const ts = now - slotsBack * HOUR;
    const points = [
      { dimension: "stream", dimension_id: "s", dimension_type: "size", value, ts },
      { dimension: "segment", dimension_id: "g", dimension_type: "size", value, ts },
    ];
    const { status } = await service.fetch("/api/metric/points", { method: "POST", json: points });
    expect(status).to.equal(200);
  }
});

function withoutCached(answer: unknown): unknown {
  const { data } = answer as { data: object[] };
  return data.map((series) => ({ ...series, is_cached: undefined }));
}
