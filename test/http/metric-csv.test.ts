import { expect } from "chai";
import { CsvReader } from "../../src/formats/csv.js";
import { LineSplitter } from "../../src/formats/line-splitter.js";
import { refused } from "../support/bad-input.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;
const now = Date.parse("2024-02-29T10:17:00Z");
const header = "name,dimension,dimension_id,dimension_type,ts,value";
const web = { dimension: "stream", dimension_id: "web", dimension_type: "size", range: "4h", interval: "1h" };
const odd = { ...web, dimension_id: 'a "b", c', name: 'two\nlines, "quoted"' };

describe("series as CSV", () => {
  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => now });
  before(async () => {
    const points = [web, odd].flatMap(({ dimension, dimension_id }, i) =>
      [1, 2].map((hours) => pointOf(dimension, dimension_id, hours + i / 2, now - hours * HOUR)),
    );
    await writePoints(service, points);
  });

  const query = (format?: string) => `/api/metric?${new URLSearchParams({ ...web, ...(format && { format }) })}`;
  const post = (json: unknown, path = "/api/metric?format=csv", headers = {}) =>
    service.fetch(path, { method: "POST", json, headers });

  const webRecords = [
    "stream.web.size,stream,web,size,2024-02-29T08:00:00.000Z,2",
    "stream.web.size,stream,web,size,2024-02-29T09:00:00.000Z,1",
  ];
  const csvText = `${[header, ...webRecords].join("\r\n")}\r\n`;

  for (const [what, path, accept, isCsv] of [
    ["format=csv", query("csv"), "application/json", true],
    ["Accept: text/csv", query(), "text/csv", true],
    ["an Accept that prefers CSV", query(), "application/json;q=0.5, Text/CSV", true],
    ["format=json, whatever Accept contains", query("json"), "text/csv", false],
    ["the Accept of browsers", query(), "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false],
    ["an Accept that names neither", query(), "image/png", false],
    ["an Accept that refuses CSV", query(), "text/csv;q=0, */*", false],
  ] as const) {
    it(`are ${isCsv ? "" : "not "}returned for ${what}, by query and by body`, async () => {
      const format = new URL(path, service.url).searchParams.get("format");
      const byBody = await post(web, `/api/metric${format === null ? "" : `?format=${format}`}`, { accept });
      for (const answer of [await service.fetch(path, { headers: { accept } }), byBody]) {
        expect(answer.status).to.equal(200);
        expect(answer.headers.get("content-type")).to.equal(
          isCsv ? "text/csv; charset=utf-8" : "application/json; charset=utf-8",
        );
        expect(answer.headers.get("vary")?.split(/, */)).to.include("Accept");
        const text = await answer.text();
        if (isCsv) expect(text).to.equal(csvText);
        else expect(JSON.parse(text).data[0].values).to.have.length(2);
      }
    });
  }

  it("contain quoted names and ids, in the order of the batch", async () => {
    const splitter = new LineSplitter(10_000);
    const reader = new CsvReader();
    const text = await (await post([odd, { ...web, dimension_id: "unknown" }, web])).text();
    const records = [...reader.push(splitter.push(Buffer.from(text))), ...reader.push(splitter.end())];
    const names = [odd.name, "stream", odd.dimension_id, "size"];
    expect(records.map(({ cells }) => cells)).to.deep.equal([
      header.split(","),
      [...names, "2024-02-29T08:00:00.000Z", "2.5"],
      [...names, "2024-02-29T09:00:00.000Z", "1.5"],
      ...webRecords.map((record) => record.split(",")),
    ]);
  });

  it("are only the header if nothing is saved", async () => {
    expect(await (await post({ ...web, dimension_id: "unknown" })).text()).to.equal(`${header}\r\n`);
  });

  it("are complete if they are many, also compressed", async () => {
    const hours = 9_000;
    const from = now - hours * HOUR;
    const json = {
      series: [{ ...names(web), dimension_id: "long" }],
      ts: times(from, hours),
      values: [Array(hours).fill(7)],
    };
    await writePoints(service, json);
    const asked = { ...web, range: undefined, dimension_id: "long", startdate: from - HOUR, enddate: now };
    for (const encoding of ["gzip", "identity"]) {
      const answer = await post([asked, asked, asked], undefined, { "accept-encoding": encoding });
      expect(answer.headers.get("content-encoding")).to.equal(encoding === "gzip" ? "gzip" : null);
      const lines = (await answer.text()).split("\r\n");
      expect(lines).to.have.length(3 * hours + 2);
      expect(lines.at(-2)).to.equal(
        `stream.long.size,stream,long,size,${new Date(hourOf(now) - HOUR).toISOString()},7`,
      );
    }
  });

  it("are refused as a whole for a bad item, with its errors", async () => {
    const answer = await post([web, { ...web, dimension: "none" }, { ...web, interval: "1x" }]);
    expect(answer.status).to.equal(400);
    expect(answer.headers.get("content-type")).to.match(/^application\/json/);
    const { data, errors } = (await answer.json()) as { data: null; errors: { code: string; path: string }[] };
    expect(data).to.equal(null);
    expect(errors.map(({ path }) => path)).to.deep.equal(["[1].dimension", "[2].interval"]);
    const one = (await (await post([web, { ...web, dimension_id: undefined }])).json()) as { message: string };
    expect(one.message).to.equal("dimension_id is required");
  });

  it("are refused for an unknown format and for a misspelt parameter", async () => {
    for (const format of ["xml", "CSV", "", "csv&format=csv"]) {
      await refused(service, `${query()}&format=${format}`, {}, 400);
      await refused(service, `/api/metric?format=${format}`, { method: "POST", json: web }, 400);
    }
    await refused(service, "/api/metric?fromat=csv", { method: "POST", json: web }, 400);
  });

  it("have an ETag of their own, and are 304 to it alone", async () => {
    const tagOf = async (path: string) => String((await service.fetch(path)).headers.get("etag"));
    const [csv, json] = [await tagOf(query("csv")), await tagOf(query())];
    expect(csv).to.not.equal(json);
    expect(await tagOf(query("csv"))).to.equal(csv);
    const statusOf = async (path: string, tag: string) =>
      (await service.fetch(path, { headers: { "if-none-match": tag } })).status;
    expect(await statusOf(query("csv"), csv)).to.equal(304);
    expect(await statusOf(query("csv"), json)).to.equal(200);
    expect(await statusOf(query(), csv)).to.equal(200);
    const byAccept = await service.fetch(query(), { headers: { accept: "text/csv", "if-none-match": csv } });
    expect(byAccept.status).to.equal(304);
  });

  it("are not mixed up with JSON in the cache of responses", async () => {
    for (const _ of [1, 2, 3]) {
      expect((await (await post(web, "/api/metric")).json()) as object).to.have.property("status", 200);
      expect(await (await post(web)).text()).to.equal(csvText);
    }
  });

  it("contain the largest double instead of a greater sum or mean, as JSON does", async () => {
    const large = { ...web, dimension_id: "large", range: "6h", interval: "2h", smooth: true };
    await writePoints(
      service,
      [1, 2, 3, 4, 5, 6].map((hours) => pointOf("stream", "large", 1e308, now - hours * HOUR)),
    );
    const json = (await (await post(large, "/api/metric")).json()) as { data: { values: { value: number }[] }[] };
    const most = Array(3).fill(Number.MAX_VALUE);
    expect(json.data[0]?.values.map(({ value }) => value)).to.deep.equal(most);
    const [, ...records] = (await (await post(large)).text()).trimEnd().split("\r\n");
    expect(records.map((record) => Number(record.split(",").at(-1)))).to.deep.equal(most);
  });

  it("are answered to HEAD with their content type and without a body", async () => {
    const answer = await service.fetch(query("csv"), { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-type")]).to.deep.equal([200, "text/csv; charset=utf-8"]);
    expect(await answer.text()).to.equal("");
  });

  it("are refused with an error in JSON", async () => {
    await refused(service, query("csv"), { key: null, headers: { accept: "text/csv" } }, 401);
    await refused(service, "/api/metric?format=csv", { method: "POST", json: [] }, 400);
  });
});

function names({ dimension, dimension_type }: typeof web) {
  return { dimension, dimension_type };
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR) * HOUR;
}

function times(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => hourOf(from) + i * HOUR);
}
