import { expect } from "chai";
import fc from "fast-check";
import { CsvReader, csvCells, csvRecord } from "../../src/formats/csv.js";
import { LineSplitter } from "../../src/formats/line-splitter.js";

describe("records of CSV", () => {
  const records: [text: string, cells: readonly string[] | undefined][] = [
    ["a,b,", ["a", "b", ""]],
    ['"a, b",c', ["a, b", "c"]],
    ['a,"say ""hi""",""', ["a", 'say "hi"', ""]],
    ['a,5" pipe', ["a", '5" pipe']],
    ['a,5" by 6", "b"', ["a", '5" by 6"', ' "b"']],
    ['5" pipe,"say ""hi"""', ['5" pipe', 'say "hi"']],
    ['"a, b",5", "c"', ["a, b", '5"', ' "c"']],
    ['a,"b', undefined],
    ['"a"b,c', undefined],
    ['"a" ,c', undefined],
  ];
  for (const [text, cells] of records) {
    it(`are ${cells === undefined ? "none in" : `the cells of`} ${text}`, () => {
      expect(csvCells(text)).to.deep.equal(cells);
      expect(read([`before\n${text}`, "\n"])).to.deep.equal([
        { number: 1, cells: ["before"] },
        { number: 2, cells },
      ]);
    });
  }

  it("are joined if a quoted cell spans lines and pieces, and have the number of their first line", () => {
    expect(read(['a,1\n"b\n', 'c",2\n\n"d\r\ne"\n"f'])).to.deep.equal([
      { number: 1, cells: ["a", "1"] },
      { number: 2, cells: ["b\nc", "2"] },
      { number: 5, cells: ["d\ne"] },
      { number: 7, cells: undefined },
    ]);
  });

  it("that are broken do not change the others", () => {
    expect(read(['"a"\n"b"x,"\n"\n"c""",1\nd\n'])).to.deep.equal([
      { number: 1, cells: ["a"] },
      { number: 2, cells: undefined },
      { number: 4, cells: ['c"', "1"] },
      { number: 5, cells: ["d"] },
    ]);
  });

  it("end with their line if an unquoted cell contains a single quote", () => {
    expect(read(['5" pipe,"a"\n', 'b,c\n"d\n', '",6" pipe\ne,f\n'])).to.deep.equal([
      { number: 1, cells: ['5" pipe', "a"] },
      { number: 2, cells: ["b", "c"] },
      { number: 3, cells: ["d\n", '6" pipe'] },
      { number: 5, cells: ["e", "f"] },
    ]);
  });

  it("end at a line that cannot be read, which is reported", () => {
    expect(read(['"a\n', Buffer.from([0xff, 0x0a]), "b\n"])).to.deep.equal([
      { number: 1, cells: undefined },
      { number: 2, cells: undefined, issue: "not_utf8" },
      { number: 3, cells: ["b"] },
    ]);
  });

  it("are read as they were written, wherever the pieces are cut", () => {
    const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", "é", " "), maxLength: 6 });
    const rows = fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 20 }), (cells, size) => {
        const text = cells.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(",")).join("\n");
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
        expect(read(pieces).map((record) => record.cells)).to.deep.equal(cells);
      }),
    );
  });
});

describe("a record that is written as CSV", () => {
  it("quotes the cells that need it, and no others", () => {
    expect(csvRecord(["a", 'b "c"', "d,e", "f\ng", "h\r", " i ", ""])).to.equal(
      'a,"b ""c""","d,e","f\ng","h\r", i ,\r\n',
    );
  });

  it("is read back unchanged", () => {
    const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "é", " ", "\r"), maxLength: 6 });
    fc.assert(
      fc.property(fc.array(cell, { minLength: 2, maxLength: 5 }), (cells) => {
        expect(read([csvRecord(cells)]).map((record) => record.cells)).to.deep.equal([cells]);
      }),
    );
  });
});

function read(pieces: readonly (string | Buffer)[]) {
  const splitter = new LineSplitter(1000, { keepBlank: true });
  const reader = new CsvReader();
  const records = pieces.flatMap((piece) => reader.push(splitter.push(Buffer.from(piece as string))));
  return [...records, ...reader.push(splitter.end()), ...reader.end()];
}
