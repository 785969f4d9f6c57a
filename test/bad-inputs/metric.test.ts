import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { serviceOfSuite } from "../support/service.js";

const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };

describe("an invalid metric request", () => {
  const service = serviceOfSuite();
  before(async () => {
    const point = { ...series, value: 7, ts: Date.now() };
    expect((await service.fetch("/api/metric/points", { method: "POST", json: [point] })).status).to.equal(200);
  });
  afterEach(() => expectAlive(service));

  const query = (parameters: object) => `/api/metric?${new URLSearchParams(parameters as Record<string, string>)}`;

  const bodyIssues = async (json: unknown) => refused(service, "/api/metric", { method: "POST", json }, 400);

  for (const name of Object.keys(series)) {
    it(`without ${name} is refused with 400, by query and by body`, async () => {
      const { [name as "dimension"]: _, ...rest } = series;
      const missing = { code: "required", path: name };
      expect((await refused(service, query(rest), {}, 400))[0]).to.include(missing);
      expect((await bodyIssues(rest))[0]).to.include(missing);
      expect((await bodyIssues({ ...rest, [name]: null }))[0]).to.include(missing);
      await refused(service, query({ ...rest, [name]: "" }), {}, 400);
    });
  }

  const bad: [string, object, string, string][] = [
    ["aggregation avg", { aggregation: "avg" }, "unknown_aggregation", "aggregation"],
    ["aggregation SUM", { aggregation: "SUM" }, "unknown_aggregation", "aggregation"],
    ["no aggregation", { aggregation: "" }, "unknown_aggregation", "aggregation"],
    ["an unknown dimension", { dimension: canary }, "unknown_dimension", "dimension"],
    ["dimension __proto__", { dimension: "__proto__" }, "unknown_dimension", "dimension"],
    ["dimension Segment", { dimension: "Segment" }, "unknown_dimension", "dimension"],
    ["an unknown type", { dimension_type: canary }, "unknown_type", "dimension_type"],
    ["type constructor", { dimension_type: "constructor" }, "unknown_type", "dimension_type"],
    ["conversionrate of a segment", { dimension_type: "conversionrate" }, "unknown_type", "dimension_type"],
    [
      "potentialreach of a stream",
      { dimension: "stream", dimension_type: "potentialreach" },
      "unknown_type",
      "dimension_type",
    ],
    ["an id ending in a backslash", { dimension_id: "a\\" }, "invalid_dimension_id", "dimension_id"],
    ["an id with a newline", { dimension_id: "a\nb" }, "invalid_dimension_id", "dimension_id"],
    ["an id with NUL", { dimension_id: "a\0b" }, "invalid_dimension_id", "dimension_id"],
    ["an empty id", { dimension_id: "" }, "invalid_dimension_id", "dimension_id"],
    ["an id of 257 characters", { dimension_id: "x".repeat(257) }, "invalid_dimension_id", "dimension_id"],
    ["a name of 257 characters", { name: canary.repeat(30) }, "invalid_name", "name"],
    ["two spellings of the start", { startdate: "now-1d", start_date: "now-1d" }, "duplicate", "startdate"],
    ["an empty range", { range: "" }, "invalid_range", "range"],
    ["an empty interval", { interval: "" }, "invalid_interval", "interval"],
    ["an interval of 1,001 years", { interval: "1001y" }, "invalid_interval", "interval"],
    ["an empty time zone", { timezone: "" }, "unknown_timezone", "timezone"],
    ["a time zone that does not exist", { timezone: "Europe/Atlantis" }, "unknown_timezone", "timezone"],
    ["an abbreviation as time zone", { timezone: "BST" }, "unknown_timezone", "timezone"],
    ["an offset as time zone", { timezone: "+01:00" }, "unknown_timezone", "timezone"],
    [
      "more days of a zone than buckets",
      { interval: "1d", timezone: "Asia/Kolkata", startdate: "1900-01-01" },
      "too_many_buckets",
      "interval",
    ],
    ["an end that is a word", { enddate: canary }, "invalid_date", "enddate"],
  ];
  for (const [name, fields, code, path] of bad) {
    it(`with ${name} is refused with 400, by query and by body`, async () => {
      expect((await refused(service, query({ ...series, ...fields }), {}, 400))[0]).to.include({ code, path });
      expect((await bodyIssues({ ...series, ...fields }))[0]).to.include({ code, path });
    });
  }

  for (const name of ["dimension", "dimension_id", "dimension_type", "aggregation", "name"]) {
    it(`whose ${name} is not a string is refused with 400`, async () => {
      for (const value of [{ $ne: "" }, ["a"], 123, true, { toString: "a" }]) {
        const [issue] = await bodyIssues({ ...series, [name]: value });
        expect(issue, JSON.stringify(value)).to.include({ code: "invalid_type", path: name });
      }
    });
  }

  for (const [json, code, path] of [
    [[], "empty", ""],
    ["x", "not_an_object", ""],
    [[[series]], "not_an_object", "[0]"],
    [{ ...series, dimension_id: "\ud800" }, "invalid_dimension_id", "dimension_id"],
    [[{ ...series, start: "now" }], "unknown_field", "[0]"],
    [[{ ...series, interval: "2x" }, 7], "invalid_interval", "[0].interval"],
  ] as const) {
    it(`with the body ${JSON.stringify(json)} is refused with the code ${code}`, async () => {
      expect((await bodyIssues(json))[0]).to.include({ code, path });
    });
  }

  for (const fields of [
    { range: 2 },
    { range: ["2d"] },
    { interval: {} },
    { startdate: true },
    { startdate: [1] },
    { startdate: 1.5 },
    { enddate: -1 },
    { enddate: 1e300 },
    { smooth: "true" },
    { smooth: 1 },
    { include_empty_rows: "false" },
  ]) {
    it(`with ${JSON.stringify(fields)} in its body is refused with 400`, () => bodyIssues({ ...series, ...fields }));
  }

  const literal = [
    'x") |> yield(name:"a',
    "$".concat("{env}"),
    "'; DROP TABLE series;--",
    "a%",
    "_",
    "*",
    "A",
    "a ",
    " a",
    "ａ",
  ];
  for (const dimension_id of literal) {
    it(`with the id ${JSON.stringify(dimension_id)} never returns another series`, async () => {
      const response = await service.fetch("/api/metric", { method: "POST", json: { ...series, dimension_id } });
      if (response.status === 400) return;
      const { data } = (await response.json()) as { data: { values: unknown[]; dimension_id: string }[] };
      expect(data).to.have.length(1);
      expect(data[0]?.dimension_id).to.equal(dimension_id);
      expect(data[0]?.values).to.deep.equal([]);
    });
  }
});
