import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { startService, type TestService } from "../support/service.js";

const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };

describe("bad metric requests", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
    const point = { ...series, value: 7, ts: Date.now() };
    expect((await service.fetch("/api/metric/points", { method: "POST", json: [point] })).status).to.equal(200);
  });
  after(() => service.stop());
  afterEach(() => expectAlive(service));

  const query = (parameters: object) => `/api/metric?${new URLSearchParams(parameters as Record<string, string>)}`;

  for (const name of Object.keys(series)) {
    it(`without ${name} is 400, asked either way`, async () => {
      const { [name as "dimension"]: _, ...rest } = series;
      await refused(service, query(rest), {}, 400);
      await refused(service, query({ ...rest, [name]: "" }), {}, 400);
      await refused(service, "/api/metric", { method: "POST", json: rest }, 400);
      await refused(service, "/api/metric", { method: "POST", json: { ...rest, [name]: null } }, 400);
    });
  }

  const bad: [string, object][] = [
    ["aggregation avg", { aggregation: "avg" }],
    ["aggregation SUM", { aggregation: "SUM" }],
    ["an unknown dimension", { dimension: canary }],
    ["dimension __proto__", { dimension: "__proto__" }],
    ["dimension Segment", { dimension: "Segment" }],
    ["an unknown type", { dimension_type: canary }],
    ["type constructor", { dimension_type: "constructor" }],
    ["conversionrate of a segment", { dimension_type: "conversionrate" }],
    ["potentialreach of a stream", { dimension: "stream", dimension_type: "potentialreach" }],
    ["an id ending in a backslash", { dimension_id: "a\\" }],
    ["an id with a newline", { dimension_id: "a\nb" }],
    ["an id with NUL", { dimension_id: "a\0b" }],
    ["an id of 257 characters", { dimension_id: "x".repeat(257) }],
    ["a name of 257 characters", { name: canary.repeat(30) }],
  ];
  for (const [name, fields] of bad) {
    it(`${name} is 400, asked either way`, async () => {
      await refused(service, query({ ...series, ...fields }), {}, 400);
      await refused(service, "/api/metric", { method: "POST", json: { ...series, ...fields } }, 400);
    });
  }

  const values: unknown[] = [{ $ne: "" }, ["a"], 123, true, { toString: "a" }];
  for (const name of ["dimension", "dimension_id", "dimension_type", "aggregation", "name"]) {
    for (const value of values) {
      it(`${name} ${JSON.stringify(value)} in a body is 400`, () =>
        refused(service, "/api/metric", { method: "POST", json: { ...series, [name]: value } }, 400));
    }
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
    it(`the id ${JSON.stringify(dimension_id)} is never another series`, async () => {
      const response = await service.fetch("/api/metric", { method: "POST", json: { ...series, dimension_id } });
      if (response.status === 400) return;
      const { data } = (await response.json()) as { data: { values: unknown[]; dimension_id: string }[] };
      expect(data).to.have.length(1);
      expect(data[0]?.dimension_id).to.equal(dimension_id);
      expect(data[0]?.values).to.deep.equal([]);
    });
  }

  it("an unknown field names the nearest known one", async () => {
    const response = await service.fetch("/api/metric", { method: "POST", json: { ...series, agregation: "max" } });
    expect(response.status).to.equal(400);
    expect(await response.text())
      .to.include("aggregation")
      .and.not.include("agregation");
  });

  it("a bad item does not spoil its batch", async () => {
    const items = [series, { ...series, aggregation: canary }, 5, null, [], { ...series, [canary]: 1 }, series];
    const response = await service.fetch("/api/metric", { method: "POST", json: items });
    const text = await response.text();
    expect(response.status).to.equal(200);
    expect(text).to.not.include(canary);
    const { data } = JSON.parse(text) as { data: { values: unknown[]; errors?: unknown[] }[] };
    expect(data.map(({ errors }) => errors !== undefined)).to.deep.equal([false, true, true, true, true, true, false]);
    expect(data[0]?.values).to.have.length(1);
    for (const item of data) if (item.errors !== undefined) expect(item.values).to.deep.equal([]);
  });
});
