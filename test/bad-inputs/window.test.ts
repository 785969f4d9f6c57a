import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { cpuMs } from "../support/cpu-time.js";
import { startService, type TestService } from "../support/service.js";

const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };

describe("bad windows", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());
  afterEach(() => expectAlive(service));

  const query = (parameters: object) =>
    `/api/metric?${new URLSearchParams({ ...series, ...parameters } as Record<string, string>)}`;

  const digits = "9".repeat(5000);
  const durations = [
    "",
    "0d",
    "-2d",
    "2x",
    "1.5h",
    "1h30m",
    "1 h",
    " 1h",
    "h",
    "2",
    "2H",
    "٢d",
    "1e3h",
    "0x2h",
    "+2d",
    "99999999999999999999h",
    `${digits}d`,
  ];
  const refusedWindows: [string, object][] = [
    ["range with a start", { range: "2d", startdate: "now-1d" }],
    ["range with an end", { range: "2d", enddate: "now" }],
    ...durations.map((range): [string, object] => [`range ${range.slice(0, 30)}`, { range }]),
    ...durations.map((interval): [string, object] => [`interval ${interval.slice(0, 30)}`, { interval }]),
    ...[
      "2024-02-30",
      "2023-02-29",
      "2024-13-01",
      "2024-00-10",
      "12/31/69",
      "1",
      "123456789012",
      "Tue",
      "Tue, 01 Jan 2024 00:00:00 GMT",
      "2024-01-01T25:00:00Z",
      "2024-01-01T00:00:00+25:00",
      "now+1d",
      "now--1d",
      "now-1.5d",
      "NOW-1d",
      "now -1d",
      "now-",
      "yesterday",
      "NaN",
      "Infinity",
      "-1",
      "",
      " ",
      canary,
      digits,
    ].map((startdate): [string, object] => [`startdate ${startdate.slice(0, 40)}`, { startdate }]),
    ["an end before the start", { startdate: "now-1d", enddate: "now-2d" }],
    ["31 million buckets", { startdate: "1970-01-01", enddate: "2029-01-01", interval: "1m" }],
    ["11,001 buckets", { startdate: "2023-01-01T00:00:00Z", enddate: "2024-04-03T09:00:00Z", interval: "1h" }],
  ];
  for (const [name, parameters] of refusedWindows) {
    it(`${JSON.stringify(name)} is 400, asked either way, at once`, async () => {
      const spent = await cpuMs(async () => {
        await refused(service, query(parameters), {}, 400);
        await refused(service, "/api/metric", { method: "POST", json: { ...series, ...parameters } }, 400);
      });
      expect(spent).to.be.below(1000);
    });
  }

  it("11,000 buckets are answered", async () => {
    const response = await service.fetch(
      query({
        startdate: "2023-01-01T00:00:00Z",
        enddate: "2024-04-03T08:00:00Z",
        interval: "1h",
        include_empty_rows: "true",
      }),
    );
    expect(response.status).to.equal(200);
    const { data } = (await response.json()) as { data: { values: unknown[] }[] };
    expect(data[0]?.values).to.have.length(11_000);
  });

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
