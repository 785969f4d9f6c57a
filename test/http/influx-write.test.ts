import { HttpError, InfluxDB, Point, setLogger } from "@influxdata/influxdb-client";
import { expect } from "chai";
import { valuesOf } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;
const NOW = Date.UTC(2024, 5, 15, 12, 30);
const DAY = Date.UTC(2024, 5, 1);

describe("a write of line protocol", () => {
  before(() => {
    setLogger({ error() {}, warn() {} });
  });
  const service = serviceOfSuite({}, { clock: () => NOW });

  const write = (body: string | Uint8Array, query = "", headers: Record<string, string> = {}) =>
    service.fetch(`/api/v2/write?org=any&bucket=any${query}`, { method: "POST", body, headers });

  /** Hourly values of a series on the day that ends with `end`. */
  async function saved(id: string, dimension = "stream", type = "size", end = "2024-06-02"): Promise<unknown> {
    const from = Date.parse(end) - 24 * HOUR;
    const window = { interval: "1h", startdate: from, enddate: end };
    const values = await valuesOf(service, { dimension, dimension_id: id, dimension_type: type, ...window });
    return values.map(([ts, value]) => [(ts - from) / HOUR, value]);
  }

  /** The error with which the official client fails to write a point. */
  async function failureOf(client: InfluxDB, point: Point): Promise<unknown> {
    const api = client.getWriteApi("o", "b", "ms", { maxRetries: 0 });
    api.writePoint(point);
    const failure = await api.flush().catch((error: unknown) => error);
    await api.close().catch(() => {});
    return failure;
  }

  it("is accepted from the official client in each precision", async () => {
    for (const precision of ["ns", "us", "ms", "s"] as const) {
      const client = new InfluxDB({ url: service.url, token: service.key });
      const api = client.getWriteApi("any org", "any bucket", precision, { maxRetries: 0 });
      const id = `official, ${precision} = "it"`;
      api.writePoint(new Point("stream").tag("dimension_id", id).intField("value", 7).timestamp(new Date(DAY)));
      const next = new Point("stream").tag("dimension_id", id).tag("host", "h1").floatField("value", 1.5);
      api.writePoint(next.timestamp(new Date(DAY + HOUR)));
      await api.flush();
      await api.close();
      expect(await saved(id), precision).to.deep.equal([
        [0, 7],
        [1, 1.5],
      ]);
    }
  });

  it("is accepted from the official client with gzip", async () => {
    const client = new InfluxDB({ url: service.url, token: service.key });
    const api = client.getWriteApi("o", "b", "ms", { maxRetries: 0, gzipThreshold: 100 });
    for (let hour = 0; hour < 24; hour += 1) {
      api.writePoint(
        new Point("stream")
          .tag("dimension_id", "zipped")
          .uintField("value", hour)
          .timestamp(DAY + hour * HOUR),
      );
    }
    await api.flush();
    await api.close();
    expect(await saved("zipped")).to.have.length(24);
  });

  it("is refused in another charset than UTF-8", async () => {
    const line = "stream,dimension_id=charset value=1";
    for (const [charset, status] of [
      ["utf-7", 415],
      ["utf-8", 204],
    ] as const) {
      const answer = await write(line, "", { "content-type": `text/plain; charset=${charset}` });
      expect(answer.status, charset).to.equal(status);
      await answer.text();
    }
  });

  it("reports a bad line in the format that the official client reads", async () => {
    const client = new InfluxDB({ url: service.url, token: service.key });
    const failure = await failureOf(client, new Point("planet").tag("dimension_id", "earth").floatField("value", 1));
    expect(failure).to.be.instanceOf(HttpError).that.includes({ statusCode: 400, code: "invalid" });
    expect(failure).to.have.property("message").that.includes("line 1, measurement: dimension must be one of ");
  });

  it("may follow a ping without a key, as clients of InfluxDB send it", async () => {
    for (const method of ["GET", "HEAD"]) {
      const answer = await service.fetch("/ping", { method, key: null });
      expect([answer.status, await answer.text()], method).to.deep.equal([204, ""]);
      expect(answer.headers.get("x-influxdb-version"), method).to.match(/^entity-metrics-\d+\.\d+\.\d+/);
    }
  });

  it("reports a wrong key in the format that the official client reads", async () => {
    const client = new InfluxDB({ url: service.url, token: `${service.key}0` });
    const failure = await failureOf(client, new Point("stream").tag("dimension_id", "a").floatField("value", 1));
    expect(failure).to.be.instanceOf(HttpError).that.includes({ statusCode: 401, code: "unauthorized" });
  });

  it("has the current time without a timestamp, and the type size without dimension_type", async () => {
    expect((await write("stream,dimension_id=nowhere value=3")).status).to.equal(204);
    expect(await saved("nowhere", "stream", "size", "2024-06-15T13:00:00Z")).to.deep.equal([[23, 3]]);
  });

  it("may contain comments, blank lines, other tags and carriage returns, with any content type and the parameters of clients", async () => {
    const line = (hour: number) =>
      `experience,dimension_type=converted,dimension_id=e1,host=a value=${hour}u ${DAY + hour * HOUR}`;
    const body = `# a comment\n\n${line(0)}\r\n   ${line(1)}\n`;
    for (const type of ["text/plain; charset=utf-8", "application/octet-stream", "application/x-www-form-urlencoded"]) {
      const query = "&precision=ms&orgID=1&consistency=all";
      expect((await write(body, query, { "content-type": type })).status).to.equal(204);
    }
    expect(await saved("e1", "experience", "converted")).to.deep.equal([
      [0, 0],
      [1, 1],
    ]);
  });

  const good = `stream,dimension_id=refused value=1 ${DAY}`;
  const refused: [name: string, lines: string, code: string, path: string, message?: RegExp][] = [
    ["no fields", "stream,dimension_id=a", "not_line_protocol", "line 2", /^line 2: The fields have to follow/],
    ["nonsense", "%$§", "not_line_protocol", "line 2"],
    ["another field", "stream,dimension_id=a count=1", "unknown_field", "line 2"],
    ["a text", 'stream,dimension_id=a value="1"', "invalid_value", "line 2", /^line 2: value must be a finite number/],
    ["a flag", "stream,dimension_id=a value=true", "invalid_value", "line 2"],
    ["NaN", "stream,dimension_id=a value=NaN", "invalid_value", "line 2"],
    [
      "another measurement",
      "planet,dimension_id=a value=1",
      "unknown_dimension",
      "line 2.dimension",
      /^line 2, measurement: dimension must be one of .*stream/,
    ],
    [
      "no id",
      "\n# none\nstream value=1",
      "required",
      "line 4.dimension_id",
      /^line 4, tag dimension_id: dimension_id is required/,
    ],
    [
      "an unknown type",
      "stream,dimension_id=a,dimension_type=x value=1",
      "unknown_type",
      "line 2.dimension_type",
      /^line 2, tag dimension_type: dimension_type must be one of size/,
    ],
    [
      "ns as ms",
      `stream,dimension_id=a value=1 ${DAY}000000`,
      "too_far_ahead",
      "line 2.timestamp",
      /^line 2, timestamp: /,
    ],
    [
      "a line that is too long",
      `stream,dimension_id=a,b=${"x".repeat(70_000)} value=1`,
      "too_long",
      "line 2",
      /^line 2: The line is too long/,
    ],
  ];

  for (const [name, lines, code, path, message = /^line 2/] of refused) {
    it(`with ${name} is refused as a whole, and the message names the line and repeats nothing of it`, async () => {
      const answer = await write(`${good}\n${lines}`, "&precision=ms");
      const body = (await answer.json()) as { errors: { code: string; path: string }[]; code: string; message: string };
      expect(answer.status).to.equal(400);
      expect(body.code).to.equal("invalid");
      expect(body.errors.map((error) => [error.code, error.path])).to.deep.equal([[code, path]]);
      expect(body.message)
        .to.match(message)
        .and.to.match(/\. Nothing was written$/);
      expect(body.message).to.not.include("planet").and.not.include("%$");
      expect(await saved("refused")).to.deep.equal([]);
    });
  }

  const bodies: [name: string, body: string, query: string, status: number, code: string][] = [
    ["an empty body", "", "", 400, "invalid"],
    ["only comments", "# a\n# b\n", "", 400, "invalid"],
    ["an unknown precision", good, "&precision=h", 400, "invalid"],
    ["50,001 lines", `${good}\n`.repeat(50_001), "&precision=ms", 413, "request too large"],
    ["two precisions", good, "&precision=ms&precision=ms", 400, "invalid"],
  ];

  for (const [name, body, query, status, code] of bodies) {
    it(`is refused with ${status} for ${name}`, async () => {
      const answer = await write(body, query);
      expect(answer.status).to.equal(status);
      expect(await answer.json()).to.deep.include({ status, data: null, code });
    });
  }
});
