import { expect } from "chai";
import { serviceOfSuite, type TestService } from "../support/service.js";

const HOUR = 3_600_000;
const NOW = Date.UTC(2024, 5, 15, 12, 30);
const DAY = Date.UTC(2024, 5, 1);

const good = { dimension: "stream", dimension_id: "orders", dimension_type: "size", value: 1, ts: DAY };
const series = { dimension: "stream", dimension_id: "orders", dimension_type: "size" };
const block = { series: [series], ts: [DAY], values: [[1]] };

/** Fields that a block does not have, and the hint of the error. */
const unknownFields: [object, string][] = [
  [{ ...block, time: [DAY] }, "the known ones are series, ts, values"],
  [{ ...block, serie: [series] }, "the nearest known one is series"],
  [{ series: [series], ts: [DAY], value: [[1]] }, "the nearest known one is values"],
];

/** Bodies of one good and one bad point, with the one error that is expected. */
const badPoints: [name: string, point: unknown, code: string, path: string][] = [
  ["a string for a value", { ...good, value: "1" }, "invalid_value", "[1].value"],
  ["a flag for a value", { ...good, value: true }, "invalid_value", "[1].value"],
  ["no value", { ...good, value: undefined }, "required", "[1].value"],
  ["null for a value", { ...good, value: null }, "required", "[1].value"],
  ["no time", { ...good, ts: undefined }, "required", "[1].ts"],
  ["a time in seconds", { ...good, ts: DAY / 1000 }, "too_old", "[1].ts"],
  ["a time in microseconds", { ...good, ts: DAY * 1000 }, "too_far_ahead", "[1].ts"],
  ["a time in nanoseconds", { ...good, ts: String(DAY * 1e6) }, "invalid_time", "[1].ts"],
  ["time 0", { ...good, ts: 0 }, "too_old", "[1].ts"],
  ["a negative time", { ...good, ts: -DAY }, "too_old", "[1].ts"],
  ["a time that is not a whole number", { ...good, ts: DAY + 0.5 }, "invalid_time", "[1].ts"],
  ["a time in words", { ...good, ts: "2024-06-01" }, "invalid_time", "[1].ts"],
  ["an empty time", { ...good, ts: "" }, "invalid_time", "[1].ts"],
  ["a time that is a flag", { ...good, ts: true }, "invalid_time", "[1].ts"],
  ["a time as a list", { ...good, ts: [DAY] }, "invalid_time", "[1].ts"],
  ["a time too far in the future", { ...good, ts: NOW + 600_001 }, "too_far_ahead", "[1].ts"],
  ["a time before 2000", { ...good, ts: Date.UTC(2000, 0, 1) - 1 }, "too_old", "[1].ts"],
  ["an unknown dimension", { ...good, dimension: "planet" }, "unknown_dimension", "[1].dimension"],
  ["the dimension __proto__", { ...good, dimension: "__proto__" }, "unknown_dimension", "[1].dimension"],
  ["no dimension", { ...good, dimension: null }, "required", "[1].dimension"],
  ["an empty id", { ...good, dimension_id: "" }, "invalid_dimension_id", "[1].dimension_id"],
  ["a number for an id", { ...good, dimension_id: 123 }, "invalid_dimension_id", "[1].dimension_id"],
  ["a query for an id", { ...good, dimension_id: { $ne: "" } }, "invalid_dimension_id", "[1].dimension_id"],
  ["a list for an id", { ...good, dimension_id: ["orders"] }, "invalid_dimension_id", "[1].dimension_id"],
  ["an id of 257 characters", { ...good, dimension_id: "x".repeat(257) }, "invalid_dimension_id", "[1].dimension_id"],
  ["an id with a line end", { ...good, dimension_id: "a\nb" }, "invalid_dimension_id", "[1].dimension_id"],
  ["an id with NUL", { ...good, dimension_id: "a\0b" }, "invalid_dimension_id", "[1].dimension_id"],
  ["an id that ends in a backslash", { ...good, dimension_id: "a\\" }, "invalid_dimension_id", "[1].dimension_id"],
  [
    "an id with half of a surrogate pair",
    { ...good, dimension_id: "a\ud800" },
    "invalid_dimension_id",
    "[1].dimension_id",
  ],
  [
    "the reserved id of all segments of segsize",
    { ...good, dimension: "segsize", dimension_id: "all_segments" },
    "reserved_id",
    "[1].dimension_id",
  ],
  ["an unknown type", { ...good, dimension_type: "weight" }, "unknown_type", "[1].dimension_type"],
  ["a type of another dimension", { ...good, dimension_type: "actualreach" }, "unknown_type", "[1].dimension_type"],
  [
    "a computed type",
    { ...good, dimension: "experience", dimension_type: "conversionrate" },
    "computed_type",
    "[1].dimension_type",
  ],
  ["no type", { ...good, dimension_type: undefined }, "required", "[1].dimension_type"],
  ["an unknown field", { ...good, tsx: 1 }, "unknown_field", "[1]"],
  ["a number for a point", 7, "not_an_object", "[1]"],
  ["null for a point", null, "not_an_object", "[1]"],
  ["a list for a point", [good], "not_an_object", "[1]"],
];

const badBlocks: [name: string, body: unknown, code: string, path: string][] = [
  ["a row too short", { ...block, ts: [DAY, DAY + HOUR] }, "invalid_length", "values[0]"],
  ["a row too long", { ...block, values: [[1, 2]] }, "invalid_length", "values[0]"],
  ["a number for a row", { ...block, values: [1] }, "invalid_length", "values[0]"],
  ["a row too few", { ...block, values: [] }, "invalid_length", "values"],
  ["a row too many", { ...block, values: [[1], [1]] }, "invalid_length", "values"],
  ["a string for a value", { ...block, values: [["1"]] }, "invalid_value", "values[0][0]"],
  ["a bad time", { ...block, ts: [DAY / 1000] }, "too_old", "ts[0]"],
  ["null for a time", { ...block, ts: [null] }, "required", "ts[0]"],
  ["a bad series", { ...block, series: [{ ...series, dimension: "x" }] }, "unknown_dimension", "series[0].dimension"],
  ["a field too many in a series", { ...block, series: [{ ...series, name: "n" }] }, "unknown_field", "series[0]"],
  ["a string for a series", { ...block, series: ["orders"] }, "not_an_object", "series[0]"],
  ["only null", { ...block, values: [[null]] }, "empty", ""],
  ["no series", { series: [], ts: [DAY], values: [] }, "not_points", ""],
  ["no times", { series: [series], ts: [], values: [[]] }, "not_points", ""],
  ["an unknown field", { ...block, value: 1 }, "unknown_field", ""],
  ["a missing field", { series: [series], ts: [DAY] }, "not_points", ""],
];

/** Bodies as they are sent. */
const badBodies: [name: string, body: string | Uint8Array, status: number, headers?: Record<string, string>][] = [
  ["an empty list", "[]", 400],
  ["an empty object", "{}", 400],
  ["a number above the range of doubles", JSON.stringify([good]).replace('"value":1', '"value":1e309'), 400],
  ["a point with __proto__", `[${JSON.stringify(good).replace("{", '{"__proto__":{"polluted":1},')}]`, 400],
  ["a bad line", `${JSON.stringify(good)}\n{`, 400, { "content-type": "application/x-ndjson" }],
  ["no line", "\n\n", 400, { "content-type": "application/x-ndjson" }],
  ["a line too long", `{"a":"${"x".repeat(66_000)}"}`, 400, { "content-type": "application/x-ndjson" }],
];

describe("a write of points", () => {
  const service = serviceOfSuite({ metrics: { retention: "30d" } }, { clock: () => NOW });

  for (const [body, hint] of unknownFields) {
    it(`is refused if a block has the fields ${Object.keys(body)}, with a hint: ${hint}`, async () => {
      const response = await service.fetch("/api/metric/points", { method: "POST", json: body });
      const { errors } = (await response.json()) as { errors: { code: string; message: string }[] };
      expect(response.status).to.equal(400);
      expect(errors[0]?.code).to.equal("unknown_field");
      expect(errors[0]?.message).to.equal(`Unknown field; ${hint}`);
    });
  }

  async function refused(body: string | Uint8Array, status: number, headers = {}): Promise<ErrorBody> {
    const answer = await service.fetch("/api/metric/points", {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    expect(answer.headers.get("content-type")).to.contain("application/json");
    const text = await answer.text();
    expect(answer.status, text).to.equal(status);
    const error = JSON.parse(text) as ErrorBody;
    expect(error).to.include({ status, data: null });
    expect(text).not.to.match(/orders|planet|weight|utf-7|polluted|tsx/);
    expect(await valuesKept(service)).to.equal(0);
    return error;
  }

  for (const [name, point, code, path] of badPoints) {
    it(`is refused as a whole for ${name}`, async () => {
      const { errors } = await refused(JSON.stringify([good, point]), 400);
      expect(errors.map((error) => [error.code, error.path])).to.deep.equal([[code, path]]);
    });
  }

  for (const [name, body, code, path] of badBlocks) {
    it(`is refused for a block with ${name}`, async () => {
      const { errors } = await refused(JSON.stringify(body), 400);
      expect(errors.map((error) => [error.code, error.path])).to.deep.equal([[code, path]]);
    });
  }

  for (const [name, body, status, headers] of badBodies) {
    it(`is refused with ${status} for ${name}`, async () => {
      await refused(body, status, headers);
      expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
    });
  }

  it("is refused for a point in a slot that began before the retention, in every format", async () => {
    const end = NOW - 30 * 24 * HOUR;
    const first = Math.ceil(end / HOUR) * HOUR;
    const { errors } = await refused(JSON.stringify([{ ...good, ts: first - 1 }]), 400);
    expect(errors.map(({ code, path }) => [code, path])).to.deep.equal([["before_retention", "[0].ts"]]);
    const rest = { ts: [first - 1, first], values: [[1, 1]] };
    const block = await refused(JSON.stringify({ series: [series], ...rest }), 400);
    expect(block.errors.map(({ code, path }) => [code, path])).to.deep.equal([["before_retention", "ts[0]"]]);
    const line = await service.fetch("/api/v2/write?precision=ms", {
      method: "POST",
      body: `stream,dimension_id=other value=1 ${first - 1}\nstream,dimension_id=other value=1 ${first}`,
    });
    expect([line.status, ((await line.json()) as ErrorBody).errors.map(({ path }) => path)]).to.deep.equal([
      400,
      ["line 1.timestamp"],
    ]);
  });

  it("is refused for a single point that is not in an array", async () => {
    const { errors } = await refused(JSON.stringify(good), 400);
    expect(errors.map(({ code }) => code)).to.deep.equal(["not_points"]);
  });

  it("is refused with the first hundred of many errors", async () => {
    const { errors } = await refused(JSON.stringify(Array(20_000).fill({ ...good, value: "x" })), 400);
    expect(errors).to.have.length(100);
  });

  it("is refused with the numbers of bad lines of JSON", async () => {
    const body = `${JSON.stringify(good)}\n\n${JSON.stringify({ ...good, value: "x" })}\nnonsense`;
    const { errors } = await refused(body, 400, { "content-type": "application/x-ndjson" });
    expect(errors.map(({ path }) => path)).to.deep.equal(["line 3.value", "line 4"]);
  });

  it("is refused in a short time for 200,000 unknown fields", async () => {
    const fields = Array.from({ length: 200_000 }, (_, i) => `"f${i}":1`).join(",");
    await refused(`[{${fields}}]`, 400);
  });
});

interface ErrorBody {
  readonly errors: { code: string; path: string; message: string }[];
}

/** Returns the number of hours with a value in the stream of these bodies. */
async function valuesKept({ service }: TestService): Promise<number> {
  const { dimensionNamed } = await import("../../src/metrics/dimensions.js");
  const dimension = dimensionNamed("stream");
  if (dimension === undefined) throw new Error("there is no stream");
  const window = { series: { dimension, id: "orders", type: "size" }, from: 0, to: NOW + 30 * HOUR - (NOW % HOUR) };
  const [values] = await service.stores.series.read([window]);
  return values?.filter((value) => !Number.isNaN(value)).length ?? 0;
}
