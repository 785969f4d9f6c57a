import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { type Message, readMessages } from "../../src/commands/message-file.js";
import { folderOfSuite } from "../support/files.js";
import { valuesOf } from "../support/requests.js";
import { itRefuses, rejectionsIn, runToEnd, startCommand } from "../support/run-command.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

describe("collect", function () {
  this.timeout(60_000);
  const service = serviceOfSuite();
  const { at, file } = folderOfSuite();
  const collect = (...args: string[]) => runToEnd("collect", ["--url", service.url, ...args]);

  async function counted(stream: string): Promise<number> {
    const { stores } = service.service;
    const counts = await stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9999);
    const unsaved = counts.filter((count) => count.stream === stream).reduce((sum, { count }) => sum + count, 0);
    if (unsaved > 0) return unsaved;
    const window = { interval: "1d", startdate: "2024-06-01", enddate: "2024-06-02" };
    const values = await valuesOf(service, { dimension: "stream", dimension_id: stream, ...window });
    return values.reduce((sum, [, value]) => sum + value, 0);
  }

  async function read(value: string, table = "user"): Promise<Record<string, unknown>> {
    const answer = await service.fetch(`/api/entity/${table}/${value}`);
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  }

  const lines = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `{"_uid":"${name}-${i % 70}","t":"2024-06-01","n":${i}}\n`).join("");

  it("sends the lines of a file, and counts them once however often it runs", async () => {
    const path = file("lines.ndjson", lines("l", 1234));
    for (let times = 0; times < 2; times += 1) {
      const result = await collect(path, "--stream", "lines", "--timestamp-field", "t");
      expect(result, result.err).to.include({ code: 0, out: "1234 messages collected\n" });
    }
    expect(await counted("lines")).to.equal(1234);
    expect(await read("l-1")).to.have.property("n", 1191);
  });

  it("sends the elements of a JSON array, also from gzip, to a table", async () => {
    const messages = [
      { account_id: "a1", note: 'a,]}"\\' },
      { account_id: "a2", list: [1, [2]], o: { k: "[" } },
    ];
    const path = file("array.json.gz", gzipSync(JSON.stringify(messages, null, 2)));
    const result = await collect(path, "--stream", "array", "--table", "account");
    expect(result, result.err).to.include({ code: 0, out: "2 messages collected\n" });
    expect(await read("a1", "account")).to.have.property("note", 'a,]}"\\');
    expect(await read("a2", "account")).to.deep.include({ list: [1, [2]], o: { k: "[" } });
  });

  it("names a gzip file that is cut off", async () => {
    const path = file("cut.ndjson.gz", gzipSync(lines("cut", 100)).subarray(0, -20));
    const { code, err } = await collect(path, "--stream", "cut");
    expect(code).to.equal(1);
    expect(err).to.contain(`${path} cannot be read (not complete, valid gzip). `);
  });

  it("prints the first 20 rejections by line, stores all in a file, sends the other lines, and ends with 3", async () => {
    const bad = `${lines("g", 150)}\n{"x":1}\nnot json\n${"{}\n".repeat(120)}{"_uid":"last","email":7.5}\n{"_uid":"last"}`;
    const path = file("bad.ndjson", bad);
    const rejects = at("rejects.ndjson");
    const result = await collect(path, "--stream", "bad", "--rejects", rejects);
    expect(result.code).to.equal(3);
    expect(result.out).to.equal("151 messages collected, 123 rejected\n");
    const named = [...result.err.matchAll(/bad\.ndjson:(\d+): rejected: (.*)/g)].map(([, line, why]) => [line, why]);
    expect(named).to.have.length(20);
    expect(result.err).to.contain(`more than 20 rejections; ${rejects} has all of them`);
    expect(named[0]).to.deep.equal(["152", "A message needs one of _uid, user_id, email"]);
    expect(named[1]).to.deep.equal(["153", "The line is not JSON: column 1"]);
    const all = rejectionsIn(rejects);
    expect(all).to.have.length(123);
    expect(all[1]).to.deep.equal({ line: 153, code: "not_json", message: "The line is not JSON: column 1" });
    expect(all.at(-1)).to.include({ line: 274 });
    expect(all.at(-1)?.message).to.match(/^email: /);
    expect(await read("last")).to.have.property("_uid", "last");
  });

  const csv =
    '\ufeff_uid,"full name",note,t\r\n007,"Ann ""A."" Lee",,2024-06-01\r\n\r\nv2,1.50,"two\n\r\nlines, and more",2024-06-01\r\n';

  it("sends rows of CSV with attribute names in the header, every cell as a string, and no attribute for an empty cell", async () => {
    for (const [path, ...args] of [
      [file("people.csv", csv)],
      [file("people.CSV.gz", gzipSync(csv))],
      [file("people.txt", csv), "--format", "csv"],
    ] as [string, ...string[]][]) {
      const result = await collect(path, "--stream", "rows", "--timestamp-field", "t", ...args);
      expect(result, result.err).to.include({ code: 0, out: "2 messages collected\n" });
    }
    expect(await counted("rows")).to.equal(2);
    const common = { t: "2024-06-01", segments: [] };
    expect(await read("007")).to.deep.equal({ _uid: "007", "full name": 'Ann "A." Lee', ...common });
    const note = "two\n\r\nlines, and more";
    expect(await read("v2")).to.deep.equal({ _uid: "v2", "full name": "1.50", note, ...common });
  });

  it("reports rejected rows of CSV by their first line, or by each line that an open quote covers", async () => {
    const rows = '_uid,n\nw1,1\nw2\nw3,"a\nb"\n,5\nw4,1,2\nw5,6\nw6\r,7\nw7,"8\nw8,9\n';
    const rejects = at("rows.ndjson");
    const result = await collect(file("bad.csv", rows), "--stream", "bad", "--rejects", rejects);
    expect(result).to.include({ code: 3, out: "3 messages collected, 6 rejected\n" });
    const rejected = rejectionsIn(rejects);
    expect(rejected.map(({ line, code }) => [line, code])).to.have.deep.members([
      [3, "invalid_row"],
      [6, "no_identity"],
      [7, "invalid_row"],
      [9, "lone_cr"],
      [10, "open_quote"],
      [11, "open_quote"],
    ]);
    expect(rejected.find(({ line }) => line === 11)?.message).to.equal(
      "The quoted cell that opens in line 10 does not end with a quote, or cannot be read",
    );
    expect(await read("w3")).to.have.property("n", "a\nb");
    expect(await read("w5")).to.have.property("n", "6");
    for (const _uid of ["w7", "w8"]) expect(await read(_uid), _uid).to.equal(null);
  });

  it("reports where it was stopped, and counts each line once when it runs again", async () => {
    const path = file("long.ndjson", lines("s", 6_000));
    const args = [path, "--stream", "stopped", "--timestamp-field", "t"];
    const child = startCommand("collect", ["--url", service.url, ...args]);
    await until("some of it is there", async () => (await counted("stopped")) > 500);
    child.child.kill("SIGINT");
    expect(await child.ended).to.equal(130);
    expect(child.err()).to.match(/Stopped\. The file is sent up to line \d+\. Running the same command again is safe/);
    const again = await collect(...args);
    expect(again, again.err).to.include({ code: 0, out: "6000 messages collected\n" });
    expect(await counted("stopped")).to.equal(6_000);
  });

  const stream = ["--stream", "s"];
  itRefuses(
    (args) => collect(...args),
    [
      ["no stream", () => ["x"], 2, /--stream/],
      ["a bad stream", () => ["x", "--stream", "a b"], 2, /--stream/],
      ["a nameless time", () => [import.meta.filename, ...stream, "--timestamp-field", ""], 2, /--timestamp-field/],
      ["a folder", () => [import.meta.dirname, ...stream], 1, /is a folder, not a file/],
      ["a missing file", () => ["not-there", ...stream], 1, /no such file/],
      ["an unknown table", () => [import.meta.filename, ...stream, "--table", "t"], 1, /no such table/],
    ],
  );
});

describe("the elements of an array", () => {
  const { file } = folderOfSuite();

  const elements = async (content: string, format: "json" | "csv" = "json") => {
    const found: Message[] = [];
    for await (const messages of readMessages(file("array.json", content), format, () => {})) found.push(...messages);
    return found;
  };

  for (const [format, content, message] of [
    ["csv", "_uid,,n\nu,1,2\n", /a column has no name/],
    ["csv", "_uid,n, n\nu,1,2\n", /two columns have the same name/],
    ["csv", "_uid;n\nu,1,2\n", /not separated by commas/],
    ["csv", '_uid,"n\nu,1,2\n', /opens in line 1 does not end with a quote/],
    ["csv", "_uid,n\ru,1\r", /carriage return outside of quotes/],
    ["csv", '"_uid",n\r"u","1, 2"\r', /carriage return outside of quotes/],
    ["json", '[{"_uid":"c"},', /is not one complete JSON array/],
    ["json", '[{"_uid":"c"}] {}', /is not one complete JSON array/],
    ["json", '[{"_uid":"c"},,{"_uid":"d"}]', /is not one complete JSON array/],
  ] as const) {
    it(`are refused in the file ${JSON.stringify(content)} as ${format}`, async () => {
      const reason = await elements(content, format).then(String, (error: Error) => error.message);
      expect(reason).to.match(message);
    });
  }

  it("become lines of JSON with the same values, also after a byte order mark", async () => {
    const values = [1, 'a\\"],[', { k: [1, { l: "}" }] }, [], "", null, "\u{1f600}", true];
    const text = `\ufeff\n[ ${values.map((value) => JSON.stringify(value, null, 1)).join(" ,\r\n")} ]\n`;
    const found = await elements(text);
    expect(found.map((element) => JSON.parse(element.text))).to.deep.equal(values);
    expect(found.map((element) => element.number)).to.deep.equal([2, 3, 4, 12, 13, 14, 15, 16]);
  });

  it("stay invalid with a line break in a string, and valid with one next to a string", async () => {
    const [wrong, right] = await elements('[{"_uid":"a\nb"},{"_uid":\r\n"c"}]');
    expect(() => JSON.parse(wrong?.text ?? "")).to.throw();
    expect(JSON.parse(right?.text ?? "")).to.deep.equal({ _uid: "c" });
  });

  it("are rejected, and not buffered, if they are longer than a line may be", async () => {
    expect(await elements(`[1,\n{"a":"${"x".repeat(1_048_576)}"},\n2]`)).to.deep.equal([
      { number: 1, text: "1" },
      { number: 2, text: "", issue: "too_long" },
      { number: 3, text: "2" },
    ]);
  });

  it("are refused with the hint to write NDJSON if the array has more than 16 MiB", async () => {
    const most = 16 * 1024 * 1024;
    expect(await elements(`[1${" ".repeat(most - 3)}]`)).to.have.length(1);
    const failure = await elements(`[1${" ".repeat(most - 2)}]`).catch((error: Error) => error.message);
    expect(failure).to.match(/is a JSON array of more than 16 MiB: use NDJSON/);
  });
});
