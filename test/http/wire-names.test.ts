import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";

const size = { dimension: "segment", dimension_id: "a", dimension_type: "size" };
const query = (fields: object) => `/api/metric?${new URLSearchParams(fields as Record<string, string>)}`;
const notAField = "Must be an identity field of the table: _uid, user_id, email";
const notATime =
  "The event time must be an RFC 3339 time, a date as YYYY-MM-DD, epoch milliseconds (13 digits) or seconds (10), since 1970";

describe("names of fields on the wire", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  const refusals: [string, string, unknown, { code: string; path: string; message: string }][] = [
    [
      "GET",
      query({ dimension_id: "a" }),
      undefined,
      { code: "required", path: "dimension", message: "dimension is required" },
    ],
    [
      "GET",
      query({ dimension: "segment" }),
      undefined,
      { code: "required", path: "dimension_id", message: "dimension_id is required" },
    ],
    [
      "GET",
      query({ dimension: "segment", dimension_id: "a" }),
      undefined,
      { code: "required", path: "dimension_type", message: "dimension_type is required" },
    ],
    [
      "GET",
      query({ ...size, range: "2d", startdate: "now-1d" }),
      undefined,
      { code: "range_with_date", path: "range", message: "range cannot be combined with startdate" },
    ],
    [
      "GET",
      query({ ...size, range: "2d", enddate: "now" }),
      undefined,
      { code: "range_with_date", path: "range", message: "range cannot be combined with enddate" },
    ],
    [
      "GET",
      query({ ...size, startdate: "2024-01-02", enddate: "2024-01-01" }),
      undefined,
      { code: "end_before_start", path: "enddate", message: "The end of the window is before its start" },
    ],
    [
      "POST",
      "/api/metric",
      [{ ...size, dimension_id: undefined }],
      { code: "required", path: "[0].dimension_id", message: "dimension_id is required" },
    ],
    [
      "POST",
      "/api/metric/points",
      [{ ...size, dimension_type: "sum", value: 1, ts: 1_767_225_600_000 }],
      { code: "unknown_type", path: "[0].dimension_type", message: "One of size is expected" },
    ],
    [
      "POST",
      "/api/metric/points",
      { series: [{ ...size, dimension_id: "" }], ts: [1_767_225_600_000], values: [[1]] },
      {
        code: "bad_dimension_id",
        path: "series[0].dimension_id",
        message: "A text of 1 to 256 characters, without control characters, not ending in a backslash is expected",
      },
    ],
    [
      "POST",
      "/collect/json/web?timestamp_field=at",
      { email: "a@b.de", at: "Tue" },
      { code: "invalid_time", path: "timestamp_field", message: notATime },
    ],
    ["GET", "/api/entity/user/name/Ann", undefined, { code: "not_an_identity", path: "fieldname", message: notAField }],
    [
      "DELETE",
      "/api/entity/user/name/a",
      undefined,
      { code: "not_an_identity", path: "fieldname", message: notAField },
    ],
  ];
  for (const [method, path, json, error] of refusals) {
    it(`are those of the errors of ${method} ${path} with ${JSON.stringify(json)}`, async () => {
      const response = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
      const answer = (await response.json()) as { status: number; message: string; errors: object[] };
      expect([answer.status, answer.errors]).to.deep.equal([400, [error]]);
    });
  }

  it("are those of an item of a batch that is refused in its place", async () => {
    const items = [size, { ...size, range: "2d", start_date: "now" }];
    const response = await service.fetch("/api/metric", { method: "POST", json: items });
    const { data } = (await response.json()) as { data: { errors?: object[] }[] };
    expect(data.map(({ errors }) => errors)).to.deep.equal([
      undefined,
      [{ code: "range_with_date", path: "[1].range", message: "range cannot be combined with startdate" }],
    ]);
  });

  it("are those of the first line of line protocol that is refused, and of its tag", async () => {
    const body = "segment,dimension_id=a value=1\nsegment,dimension_id=all_segments value=1";
    const response = await service.fetch("/api/v2/write", { method: "POST", body });
    const { message, errors } = (await response.json()) as { message: string; errors: { path: string }[] };
    expect(message).to.match(/^line 2, tag dimension_id: This id stands for every one/);
    expect(errors.map(({ path }) => path)).to.deep.equal(["line 2.dimension_id"]);
  });

  it("are those of messages that are rejected, in lists and in lines", async () => {
    const bad = { email: "a@b.de", at: "Tue" };
    const pathsOf = async (body: string, type: string) => {
      const headers = { "content-type": type };
      const response = await service.fetch("/collect/json/web?timestamp_field=at", { method: "POST", body, headers });
      const { data } = (await response.json()) as { data: { errors: { path: string }[] } };
      return data.errors.map(({ path }) => path);
    };
    expect(await pathsOf(JSON.stringify([bad]), "application/json")).to.deep.equal(["[0].timestamp_field"]);
    expect(await pathsOf(JSON.stringify(bad), "application/x-ndjson")).to.deep.equal(["line 1, timestamp_field"]);
  });
});
