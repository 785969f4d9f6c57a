import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";

const size = { dimension: "segment", dimension_id: "a", dimension_type: "size" };
const query = (fields: object) => `/api/metric?${new URLSearchParams(fields as Record<string, string>)}`;
const notAField = "fieldname must be an identity field of the table: _uid, user_id, email";
const notATime =
  "The event time (the attribute that timestamp_field names) must be an RFC 3339 time (with T or a blank), a date as YYYY-MM-DD, epoch milliseconds (13 digits) or seconds (10), since 1970";

describe("the names in errors", () => {
  const service = serviceOfSuite();

  const refusals: [string, string, unknown, { code: string; path: string; message: string }][] = [
    [
      "GET",
      query({ ...size, range: "2d", startdate: "now-1d" }),
      undefined,
      { code: "range_with_date", path: "range", message: "range cannot be combined with startdate" },
    ],
    [
      "POST",
      "/collect/json/web?timestamp_field=at",
      { email: "a@b.de", at: "Tue" },
      { code: "invalid_time", path: "timestamp_field", message: notATime },
    ],
    [
      "POST",
      "/collect/json/web",
      { email: null, _uid: "a" },
      {
        code: "invalid_identity",
        path: "email",
        message: "email must be a string or a number; null does not remove an identity",
      },
    ],
    [
      "POST",
      "/api/metric/points",
      [{ dimension: "stream", dimension_id: "a", dimension_type: "x", value: 1, ts: 1_717_200_000_000 }],
      { code: "unknown_type", path: "[0].dimension_type", message: "dimension_type must be one of size" },
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
    it(`are the names in the request: ${method} ${path} with ${JSON.stringify(json)}`, async () => {
      const response = await service.fetch(path, { method, ...(json === undefined ? {} : { json }) });
      const answer = (await response.json()) as { status: number; message: string; errors: object[] };
      expect([answer.status, answer.errors]).to.deep.equal([400, [error]]);
    });
  }

  it("are the names in the request in a refused item of a batch", async () => {
    const items = [size, { ...size, range: "2d", start_date: "now" }];
    const response = await service.fetch("/api/metric", { method: "POST", json: items });
    const { data } = (await response.json()) as { data: { errors?: object[] }[] };
    expect(data.map(({ errors }) => errors)).to.deep.equal([
      undefined,
      [{ code: "range_with_date", path: "[1].range", message: "range cannot be combined with startdate" }],
    ]);
  });

  it("are the names in the request in rejected messages of an array and of NDJSON", async () => {
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
