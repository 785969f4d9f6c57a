import { expect } from "chai";
import { csvRows, type Row, type RowReader } from "../../src/commands/ingest/rows.js";
import type { LineIssue } from "../../src/commands/send-files.js";
import { type CsvRecord, csvCells } from "../../src/formats/csv.js";

const nothingNamed = {};
const JUNE = Date.UTC(2024, 5, 1);

describe("rows of CSV", () => {
  for (const [header, known] of [
    ["ts,value", true],
    ["timestamp,value", true],
    ['"Time","VALUE",other', true],
    ["value,dimension_id", false],
    ["ts,value,Value", false],
    ["ts,value,timestamp", false],
    ["ts,value,dimension,dimension", false],
    ["stream,dimension_id=a value=1", false],
    ['{"ts":1,"value":2}', false],
  ] as const) {
    it(`${known ? "accept" : "refuse"} ${JSON.stringify(header)} as a header`, () => {
      const rows = csvRows(header, { dimension: "stream", dimensionId: "a" });
      expect(typeof rows !== "string").to.equal(known);
    });
  }

  const header = "dimension,dimension_id,dimension_type,ts,value,note";

  function read(text: string): Row | LineIssue {
    const rows = csvRows(header, nothingNamed) as RowReader<CsvRecord["cells"]>;
    const row: Row = { dimension: "", dimension_id: "", dimension_type: "", value: 0, ms: 0 };
    return rows(csvCells(text), row) ?? row;
  }

  const rows: [text: string, id: string, type: string, value: number][] = [
    ["stream,a,size,2024-06-01,1.5,", "a", "size", 1.5],
    ['stream,"a, b",,2024-06-01,-1e3,x', "a, b", "size", -1000],
    ['"stream","say ""hi""","size","2024-06-01","7","x, y"', 'say "hi"', "size", 7],
  ];

  for (const [text, id, type, value] of rows) {
    it(`are read from ${text}`, () => {
      const row = { dimension: "stream", dimension_id: id, dimension_type: type, value, ms: JUNE };
      expect(read(text)).to.deep.equal(row);
    });
  }

  for (const text of [
    "stream,a,size,2024-06-01,1",
    "stream,a,size,2024-06-01,1,2,3",
    "stream,a,size,2024-06-01,,x",
    "stream,a,size,2024-06-01,NaN,x",
    "stream,a,size,2024-06-01,0x10,x",
    "stream,a,size,2024-06-01,1e309,x",
    "stream,a,size,,1,x",
    'stream,"a,size,2024-06-01,1,x',
    'stream,"a"b,size,2024-06-01,1,x',
  ]) {
    it(`are rejected if they are ${text}`, () => {
      expect(read(text)).to.have.keys("code", "message");
    });
  }

  it("have the values of options rather than of columns", () => {
    const defaults = { dimension: "segment", dimensionId: "s", dimensionType: "size" };
    const reader = csvRows(header, defaults) as RowReader<CsvRecord["cells"]>;
    const row: Row = { dimension: "", dimension_id: "", dimension_type: "", value: 0, ms: 0 };
    expect(reader(csvCells("stream,a,other,2024-06-01,1,"), row)).to.equal(undefined);
    expect(row).to.include({ dimension: "segment", dimension_id: "s", dimension_type: "size" });
  });

  it("need an option that is named if it is missing", () => {
    expect(csvRows("ts,value", nothingNamed)).to.contain("--dimension");
    expect(csvRows("ts,value", { ...nothingNamed, dimension: "stream" })).to.contain("--dimension-id");
  });
});
