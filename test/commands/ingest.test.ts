import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { folderOfSuite } from "../support/files.js";
import { valuesOf } from "../support/requests.js";
import { itRefuses, rejectionsIn, runToEnd } from "../support/run-command.js";
import { serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;
const fixture = fileURLToPath(new URL("../fixtures/taxi.csv", import.meta.url));

describe("ingest", function () {
  this.timeout(60_000);
  const service = serviceOfSuite();
  const { at, file } = folderOfSuite();
  const ingest = (...args: string[]) => runToEnd("ingest", ["--url", service.url, ...args]);

  const named = (id: string) => ["--dimension", "stream", "--dimension-id", id];

  /** Values of a series in the hours of 1 June 2024. */
  const values = async (dimension_id: string, dimension = "stream") => {
    const day = { startdate: "2024-06-01", enddate: "2024-06-02", interval: "1h" };
    return (await valuesOf(service, { dimension, dimension_id, ...day })).map(([, value]) => value);
  };

  async function daysEqual(path: string, id: string): Promise<void> {
    const result = await ingest(path, "--dimension", "stream", "--dimension-id", id);
    expect(result, result.err).to.include({ code: 0 });
    const window = { startdate: "2014-07-01", enddate: "2015-02-01", interval: "1d" };
    const days = await valuesOf(service, { dimension: "stream", dimension_id: id, ...window });
    expect(days).to.deep.equal(dailySums(path));
  }

  it("writes a real file with its daily sums", () => daysEqual(fixture, "taxi"));

  it("counts a file once that it writes twice", () => daysEqual(fixture, "taxi"));

  it("aggregates a slot as --aggregation requests", async () => {
    const path = file("fold.csv", "ts,value\n1717200000,1\n1717200001000,3\n1717200002,2\n");
    const args = ["--dimension", "stream", "--dimension-id", "highest", "--aggregation", "max"];
    expect(await ingest(path, ...args)).to.include({ code: 0 });
    expect(await values("highest")).to.deep.equal([3]);
  });

  it("accepts JSON, line protocol, CSV with columns for the names, and gzip in one run", async () => {
    const ts = Date.parse("2024-06-01");
    const json = { dimension: "stream", dimension_id: "mixed", dimension_type: "size", value: 1, ts };
    const result = await ingest(
      file("a.ndjson", `\uFEFF${JSON.stringify(json)}\n${JSON.stringify({ ...json, ts: String(ts + HOUR) })}\n`),
      file("b.lp", `# comment\nstream,dimension_id=mixed value=10i ${ts}000000\n`),
      file("c.csv.gz", gzipSync(`"timestamp","value",dimension_id,dimension\n2024-06-01,100,"mixed",stream\n`)),
    );
    expect(result, result.err).to.include({ code: 0, out: "4 points read, 2 slots of 1 series written\n" });
    expect(await values("mixed")).to.deep.equal([111, 1]);
  });

  it("reports each rejected line, writes the others, and ends with 3", async () => {
    const rows = [
      "2024-06-01 00:00:00,1",
      "yesterday,1",
      "2024-06-01 01:00:00,x",
      "1999-01-01,1",
      "2024-06-01 02:00:00,2",
      "1,2,3",
    ];
    const path = file("bad.csv", ["ts,value", ...rows].join("\n"));
    const rejects = at("rejects.ndjson");
    const args = ["--dimension", "stream", "--dimension-id", "rest", "--rejects", rejects];
    const { code, out, err } = await ingest(path, ...args);
    expect(code).to.equal(3);
    expect(rejectionsIn(rejects)).to.deep.equal([
      {
        line: 3,
        code: "invalid_time",
        message: "its time is not RFC 3339, YYYY-MM-DD, YYYY-MM-DD HH:MM:SS, or epoch seconds or ms",
      },
      { line: 4, code: "invalid_value", message: "its value is not a finite number" },
      { line: 5, code: "too_old", message: "The time is before 2000-01-01; check its unit" },
      { line: 7, code: "invalid_row", message: "it does not have 2 columns" },
    ]);
    expect(out).to.contain("2 points read, 2 slots of 1 series written, 4 rejected");
    for (const line of [3, 4, 5, 7]) expect(err).to.contain(`bad.csv:${line}: rejected: `);
    expect(await values("rest")).to.deep.equal([1, 2]);
  });

  it("writes every point of a JSON array, in one line or several", async () => {
    const points = [0, 1, 2].map((hour) => ({ ts: Date.parse("2024-06-01") + hour * HOUR, value: hour + 1 }));
    const [first, ...rest] = points.map((point) => JSON.stringify(point));
    for (const text of [`[${first},\n${rest}]\n`, JSON.stringify(points), JSON.stringify(points, null, 2)]) {
      const result = await ingest(file("array.json", text), ...named("array"));
      expect(result, result.err).to.include({ code: 0, out: "3 points read, 3 slots of 1 series written\n" });
    }
    expect(await values("array")).to.deep.equal([1, 2, 3]);
  });

  it("rejects a JSON point that has its time twice", async () => {
    const points = '{"ts":1717200000,"time":1717203600,"value":1}\n{"ts":null,"time":1717203600,"value":2}\n';
    const result = await ingest(file("times.ndjson", points), ...named("times"));
    expect(result.code).to.equal(3);
    expect(result.err).to.contain("times.ndjson:1: rejected: it has more than one of ts, time and timestamp");
    expect(await values("times")).to.deep.equal([2]);
  });

  it("names the file of a rejection if there are several files", async () => {
    const rejects = at("rejects.ndjson");
    const [good, bad] = [file("good.csv", "ts,value\n2024-06-01,1\n"), file("half.csv", "ts,value\nnever,1\n")];
    const result = await ingest(good, bad, "--dimension", "stream", "--dimension-id", "two", "--rejects", rejects);
    expect(result.code).to.equal(3);
    expect(rejectionsIn(rejects)).to.have.length(1);
    expect(rejectionsIn(rejects)[0]).to.include({ file: bad, line: 2, code: "invalid_time" });
  });

  for (const [header, found] of [
    ["Timestamp;Value", "semicolons between columns"],
    ["amount", "one column"],
  ] as const) {
    it(`reports the required columns, and the separator found, for the header ${JSON.stringify(header)}`, async () => {
      const path = file("separated.csv", `${header}\n2024-06-01\n`);
      const result = await ingest(path, "--dimension", "stream", "--dimension-id", "separated");
      expect(result.code).to.equal(2);
      expect(result.err).to.match(/\n.*separated\.csv: the first line is not a header of points\. .*\n$/);
      expect(result.err)
        .to.contain(`ts (or time, timestamp), value`)
        .and.contain("commas between them")
        .and.contain(`found: ${found}`)
        .and.not.contain("line protocol:");
    });
  }

  it("reads a file in the format of --format, whatever its first line", async () => {
    const garbled = file("garbled.lp", "no line protocol\nstream value=7 1717200000000000000\n");
    const lines = await ingest(garbled, ...named("forced"), "--format", "line-protocol");
    expect(lines, lines.err).to.include({ code: 3, out: "1 point read, 1 slot of 1 series written, 1 rejected\n" });
    expect(lines.err).to.contain("garbled.lp:1: rejected: it is not line protocol");
    const broken = file("broken.ndjson", 'nonsense\n{"ts":1717200000,"value":7}\n');
    const json = await ingest(broken, ...named("forced"), "--format", "ndjson");
    expect(json, json.err).to.include({ code: 3, out: "1 point read, 1 slot of 1 series written, 1 rejected\n" });
    expect(json.err).to.contain("broken.ndjson:1: rejected: it is not JSON");
    const csv = await ingest(file("lines.csv", "stream,a=b value=7\n"), ...named("forced"), "--format", "csv");
    expect(csv.code).to.equal(2);
    expect(csv.err).to.contain("the first line is not a header of points");
  });

  itRefuses(
    (args) => ingest(...args),
    [
      ["no file", () => [], 2, /missing required argument/],
      ["an unknown dimension", () => [fixture, "--dimension", "planet"], 2, /Allowed choices/],
      ["a CSV file that names no id", () => [fixture, "--dimension", "stream"], 2, /--dimension-id/],
      [
        "a header with two times",
        () => [file("twice.csv", "ts,time,value\n2024-06-01,2024-06-02,1\n"), ...named("twice")],
        2,
        /twice\.csv: the header has more than one column for one thing: /,
      ],
      [
        "a JSON array that is cut off",
        () => [file("cut.json", '[{"ts":1717200000,"value":1},\n{"ts":'), ...named("cut")],
        1,
        /cut\.json is not one complete JSON array/,
      ],
      ["a missing file", () => [at("none.csv"), "--dimension", "stream"], 1, /none\.csv/],
      ["a folder", () => [at(), "--dimension", "stream"], 1, /is a folder, not a file/],
      [
        "a file with a header alone",
        () => [file("empty", "ts,value\n"), ...named("none")],
        1,
        /empty contains no point$/m,
      ],
    ],
  );
});

/** Midnight and sum of each day of a CSV file of `YYYY-MM-DD HH:MM:SS,value`. */
function dailySums(path: string): [number, number][] {
  const sums = new Map<number, number>();
  for (const line of readFileSync(path, "utf8").trim().split(/\r?\n/).slice(1)) {
    const midnight = Date.parse(line.slice(0, 10));
    sums.set(midnight, (sums.get(midnight) ?? 0) + Number(line.split(",")[1]));
  }
  return [...sums].sort(([a], [b]) => a - b);
}
