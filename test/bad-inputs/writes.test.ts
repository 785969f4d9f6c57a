import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { startService, type TestService } from "../support/service.js";

const HOUR = 3_600_000;
const now = Date.UTC(2026, 5, 15, 12, 30);
const slot = Math.floor(now / (2 * HOUR)) * 2 * HOUR;
/** Another one for each test. */
let series = { dimension: "segment", dimension_id: "", dimension_type: "size" };
let tests = 0;
const json = { "content-type": "application/json" };

describe("bad writes", () => {
  let service: TestService;
  before(async () => {
    service = await startService({ recorder: { tick_ms: 3_600_000 } }, { clock: () => now });
  });
  after(() => service.stop());
  beforeEach(() => {
    tests += 1;
    series = { ...series, dimension_id: `a${tests}` };
  });
  afterEach(() => expectAlive(service));

  const values = async () => {
    const request = { ...series, startdate: "2020-01-01", interval: "1w" };
    const response = await service.fetch("/api/metric", { method: "POST", json: { ...request, interval: "52w" } });
    const { data } = (await response.json()) as { data: { values: { value: number }[] }[] };
    return data[0]?.values.map(({ value }) => value);
  };
  const write = async (points: object[]) =>
    (await service.fetch("/api/metric/points", { method: "POST", json: points })).status;

  const badValues = ["NaN", "Infinity", "-Infinity", '"1"', "1e309", "-1e309", "true", "[1]", "{}", ""];
  it("values that are no finite number are 400, and nothing is written", async () => {
    for (const value of badValues) {
      const start = JSON.stringify({ ...series, ts: slot }).slice(0, -1);
      await refused(
        service,
        "/api/metric/points",
        { method: "POST", headers: json, body: `[${start},"value":${value}}]` },
        400,
      );
    }
    expect(await values()).to.deep.equal([]);
  });

  const times: [string, unknown][] = [
    ["seconds", Math.floor(now / 1000)],
    ["microseconds", now * 1000],
    ["nanoseconds", now * 1e6],
    ["0", 0],
    ["below 0", -1],
    ["more than ten minutes ahead", now + 600_001],
    ["a fraction", now + 0.5],
    ["a date", "2026-06-15"],
    ["a text", canary],
    ["an empty text", ""],
    ["null", null],
    ["a flag", true],
    ["no safe integer", 1e300],
  ];
  for (const [name, ts] of times) {
    it(`a ts of ${name} is 400, and nothing of the batch is written`, async () => {
      const points = [
        { ...series, value: 1, ts: slot },
        { ...series, value: 1, ts },
      ];
      await refused(service, "/api/metric/points", { method: "POST", json: points }, 400);
      expect(await values()).to.deep.equal([]);
    });
  }

  it("the same slot twice, out of order, a year late: the later write wins", async () => {
    expect(await write([{ ...series, value: 1, ts: slot }])).to.equal(200);
    expect(await values()).to.deep.equal([1]);
    expect(await write([{ ...series, value: 1, ts: slot }])).to.equal(200);
    expect(await values()).to.deep.equal([1]);
    const twice = [
      { ...series, value: 9, ts: slot + 5 },
      { ...series, value: 4, ts: slot },
    ];
    expect(await write(twice)).to.equal(200);
    expect(await values()).to.deep.equal([4]);
    expect(await write([{ ...series, value: 3, ts: String(slot - 400 * 24 * HOUR) }])).to.equal(200);
    expect(await values()).to.include.members([3, 4]);
  });

  const fields: [string, object][] = [
    ["an id with a control character", { dimension_id: "a\u0001" }],
    ["an id ending in a backslash", { dimension_id: "a\\" }],
    ["an empty id", { dimension_id: "" }],
    ["an id of 257 characters", { dimension_id: "x".repeat(257) }],
    ["an id that is a number", { dimension_id: 5 }],
    ["an unknown dimension", { dimension: canary }],
    ["a dimension __proto__", { dimension: "__proto__" }],
    ["conversionrate", { dimension: "experience", dimension_type: "conversionrate" }],
    ["a type of another dimension", { dimension_type: "actualreach" }],
    ["an unknown field", { [canary]: 1 }],
  ];
  for (const [name, change] of fields) {
    it(`${name} is 400`, () =>
      refused(
        service,
        "/api/metric/points",
        { method: "POST", json: [{ ...series, value: 1, ts: slot, ...change }] },
        400,
      ));
  }

  for (const body of ["[]", "{}", "null", '{"series":[],"ts":[],"values":[]}']) {
    it(`the write ${body} is 400`, () =>
      refused(service, "/api/metric/points", { method: "POST", headers: json, body }, 400));
  }

  it("a batch over its cap is 413, and nothing of it is written", async () => {
    const small = await startService({ limits: { batch_points: 3 } }, { clock: () => now });
    try {
      const points = [0, 1, 2, 3].map((i) => ({ ...series, value: i, ts: slot - i * 2 * HOUR }));
      await refused(small, "/api/metric/points", { method: "POST", json: points }, 413);
      const response = await small.fetch("/api/metric/points", { method: "POST", json: points.slice(1) });
      expect(response.status).to.equal(200);
    } finally {
      await small.stop();
    }
  });

  const lines = [
    `${canary},dimension_id=a value=1`,
    "segment value=1",
    "segment,dimension_id=a value=NaN",
    "segment,dimension_id=a value=t",
    'segment,dimension_id=a value="1"',
    `segment,dimension_id=a ${canary}=1`,
    "segment,dimension_id=a value=1 abc",
    "segment,dimension_id=a value=1 1",
    "segment,dimension_id=a\\ value=1",
    "segment,dimension_id= value=1",
    "segment,dimension_id=a",
    canary,
    "\u0000",
  ];
  for (const line of lines) {
    it(`the line ${JSON.stringify(line)} is 400`, async () => {
      const body = `segment,dimension_id=${series.dimension_id} value=1\n${line}\n`;
      await refused(service, "/api/v2/write", { method: "POST", headers: { "content-type": "text/plain" }, body }, 400);
      expect(await values()).to.deep.equal([]);
    });
  }

  it("an event of an erased identity is taken, dropped and counted", async () => {
    const message = { email: "gone@example.com", a: canary, at: now - 1000 };
    const collect = (body: object) =>
      service.fetch("/collect/json/web?timestamp_field=at", { method: "POST", json: body });
    expect((await collect(message)).status).to.equal(200);
    expect((await service.fetch("/api/entity/user/email/gone@example.com", { method: "DELETE" })).status).to.equal(200);
    const late = await collect(message);
    expect(late.status).to.equal(200);
    expect(await late.json()).to.deep.include({ data: { message_count: 1, rejected_count: 0, errors: [] } });
    expect((await service.fetch("/api/entity/user/email/gone@example.com")).status).to.equal(404);
  });
});
