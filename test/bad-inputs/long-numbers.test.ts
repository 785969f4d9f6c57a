import { expect } from "chai";
import { csvRows, lineRows, type Row, type RowReader } from "../../src/commands/ingest/rows.js";
import { CsvReader, type CsvRecord, csvCells } from "../../src/formats/csv.js";
import { instantReader } from "../../src/formats/instant.js";
import { parseLine } from "../../src/formats/line-protocol.js";
import { runBounded } from "../support/run-bounded.js";

/** Digits of a line of 64 KiB, and sixteen times as many: quadratic work on these takes most of an hour. */
const LENGTHS = [65_000, 16 * 65_000];

const numbers: [name: string, number: (length: number) => string][] = [
  ["digits", (length) => "7".repeat(length)],
  ["digits and a letter", (length) => `${"7".repeat(length)}x`],
  ["digits and i", (length) => `${"7".repeat(length)}i`],
  ["digits and u", (length) => `${"7".repeat(length)}u`],
  ["zeros and i", (length) => `${"0".repeat(length)}i`],
  ["digits and a point", (length) => `${"7".repeat(length)}.x`],
  ["a fraction", (length) => `.${"7".repeat(length)}x`],
  ["an exponent", (length) => `1e${"7".repeat(length)}x`],
  ["a sign and digits", (length) => `-${"7".repeat(length)}x`],
];

describe("the work on a number grows with its length, not with the square of it:", function () {
  this.timeout(60_000);
  const defaults = { dimension: "stream", dimensionId: "a", dimensionType: "size" };
  const row: Row = { dimension: "", dimension_id: "", dimension_type: "", value: 0, ms: 0 };

  for (const [name, number] of numbers) {
    it(`${name} as a value or a timestamp of line protocol`, () => {
      for (const length of LENGTHS) {
        runBounded(() => parseLine(`m value=${number(length)}`));
        expect(runBounded(() => parseLine(`m value=1 ${number(length)}`))).to.have.property("issue");
      }
    });

    it(`${name} in a file of line protocol, and as a value or a time in CSV`, () => {
      const csv = csvRows("ts,value", defaults) as RowReader<CsvRecord["cells"]>;
      for (const length of LENGTHS) {
        runBounded(() => lineRows({ ...defaults, precision: "ns" }, 0)(`m value=${number(length)}`, row));
        runBounded(() => csv(csvCells(`2024-06-01,${number(length)}`), row));
        expect(runBounded(() => instantReader()(number(length)))).to.be.NaN;
      }
    });
  }

  it("a CSV row whose quote does not end", () => {
    const lines = Array.from({ length: 400_000 }, (_, index) => ({
      number: index + 2,
      text: index === 0 ? '"' : "1,",
    }));
    const reader = new CsvReader();
    const found = runBounded(() => [...lines.flatMap((line) => reader.push([line])), ...reader.end()]);
    expect(found[0]).to.have.property("number", 2);
  });
});
