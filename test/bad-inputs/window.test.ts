import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { cpuMs } from "../support/cpu-time.js";
import { serviceOfSuite } from "../support/service.js";

const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };

describe("bad windows", () => {
  const service = serviceOfSuite();
  afterEach(() => expectAlive(service));

  const query = (parameters: object) =>
    `/api/metric?${new URLSearchParams({ ...series, ...parameters } as Record<string, string>)}`;

  const refusedWindows: [string, object, string, string][] = [
    ["a range with a start", { range: "2d", startdate: "now-1d" }, "range_with_date", "range"],
    ["a range with an end", { range: "2d", enddate: "now" }, "range_with_date", "range"],
    ["the range 2x", { range: "2x" }, "bad_range", "range"],
    ["an empty range", { range: "" }, "bad_range", "range"],
    ["the interval 0h", { interval: "0h" }, "bad_interval", "interval"],
    ["an empty interval", { interval: "" }, "bad_interval", "interval"],
    ["a start that no calendar has", { startdate: "2024-02-30" }, "bad_date", "startdate"],
    ["an end that is a word", { enddate: canary }, "bad_date", "enddate"],
    ["an empty start", { startdate: "" }, "bad_date", "startdate"],
    ["two spellings of the start", { startdate: "now-1d", start_date: "now-1d" }, "given_twice", "startdate"],
    ["an end before the start", { startdate: "now-1d", enddate: "now-2d" }, "end_before_start", "enddate"],
  ];
  for (const [name, parameters, code, path] of refusedWindows) {
    it(`a request with ${name} is 400, by query and by body`, async () => {
      expect((await refused(service, query(parameters), {}, 400))[0]).to.include({ code, path });
      const json = { ...series, ...parameters };
      expect((await refused(service, "/api/metric", { method: "POST", json }, 400))[0]).to.include({ code, path });
    });
  }

  it("an end that is the start is an empty answer", async () => {
    const response = await service.fetch(query({ startdate: "2024-01-01", enddate: "2024-01-01" }));
    expect(response.status).to.equal(200);
    expect(((await response.json()) as { data: { values: unknown[] }[] }).data[0]?.values).to.deep.equal([]);
  });

  it("100 KB of digits cost no time", async () => {
    const long = `${"1".repeat(100_000)}d`;
    const items = ["range", "interval", "startdate", "enddate"].map((name) => ({ ...series, [name]: long }));
    const spent = await cpuMs(() => refused(service, "/api/metric", { method: "POST", json: items }, 400));
    expect(spent).to.be.below(1000);
  });

  const types: [string, unknown][] = [
    ["range", 2],
    ["range", ["2d"]],
    ["interval", {}],
    ["startdate", true],
    ["startdate", [1]],
    ["startdate", 1.5],
    ["enddate", -1],
    ["enddate", 1e300],
    ["smooth", "true"],
    ["smooth", 1],
    ["include_empty_rows", "false"],
  ];
  for (const [name, value] of types) {
    it(`${name} ${JSON.stringify(value)} in a body is 400`, () =>
      refused(service, "/api/metric", { method: "POST", json: { ...series, [name]: value } }, 400));
  }
});
