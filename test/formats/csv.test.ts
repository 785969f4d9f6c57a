import { expect } from "chai";
import fc from "fast-check";
import { CsvReader, type CsvRecord, csvCells, csvRecord } from "../../src/formats/csv.js";
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
      for (const end of ["\n", "\r\n"]) {
        expect(read([`before${end}${text}`, end])).to.deep.equal([
          { number: 1, cells: ["before"] },
          cells === undefined ? openQuote(2, 2) : { number: 2, cells },
        ]);
      }
    });
  }

  it("are joined if a quoted cell spans lines and pieces, and have the number of their first line", () => {
    expect(read(['a,1\n"b\n', 'c",2\n\n"d\r\ne"\n"f'])).to.deep.equal([
      { number: 1, cells: ["a", "1"] },
      { number: 2, cells: ["b\nc", "2"] },
      { number: 5, cells: ["d\r\ne"] },
      openQuote(7, 7),
    ]);
  });

  const files: [name: string, text: string, cells: (readonly string[] | undefined)[]][] = [
    [
      "blank lines, in quotes and outside",
      '1,"\r\n\r\n"\n\r\n2,3',
      [
        ["1", "\r\n\r\n"],
        ["2", "3"],
      ],
    ],
    [
      "any script, after a byte order mark",
      '\ufeff"a",b\r\n1,ʤ日本🦉\r\n',
      [
        ["a", "b"],
        ["1", "ʤ日本🦉"],
      ],
    ],
    ["blanks around cells", 'a , b\n 1,"2 "\t\n', [["a ", " b"], undefined]],
    ["CR alone", "a,b\r1,2\r3,4\r", [undefined]],
    ["CR alone, with quotes", '"a",b\r"1","x, y"\r', [undefined]],
    ["CR LF written as CR CR LF", "a,b\r\r\n1,2\r\r\n", [undefined, undefined]],
  ];
  for (const [name, text, cells] of files) {
    it(`are read with every value unchanged, or not at all, from a file with ${name}`, () => {
      for (const pieces of [[text], Array.from(text)]) {
        expect(read(pieces).map((record) => record.cells)).to.deep.equal(cells);
      }
    });
  }

  it("that are broken do not change the others, and each of their lines is reported with the line of the quote", () => {
    expect(read(['"a"\n"b"x,"\n"\n"c""",1\nd\n'])).to.deep.equal([
      { number: 1, cells: ["a"] },
      openQuote(2, 2),
      openQuote(3, 2),
      { number: 4, cells: ['c"', "1"] },
      { number: 5, cells: ["d"] },
    ]);
    expect(read(['"a\nb","c\n1,"Ann\n2,Bob\n3,"Cem\n4,"Dan"\n5,"E"\n'])).to.deep.equal([
      ...[1, 2, 3].map((line) => openQuote(line, 2)),
      { number: 4, cells: ["2", "Bob"] },
      ...[5, 6].map((line) => openQuote(line, 5)),
      { number: 7, cells: ["5", "E"] },
    ]);
  });

  it("of more than 1 MiB are reported line by line, and the next one is read", () => {
    const long = Array.from({ length: 1100 }, () => `${"x".repeat(990)}\n`);
    const found = read(['1,"', ...long, '"\n2,3\n']);
    expect(found).to.have.length(1102);
    expect(found.slice(0, -1).every(({ issue, quote }) => issue === "open_quote" && quote === 1)).to.equal(true);
    expect(found.at(-1)).to.deep.equal({ number: 1102, cells: ["2", "3"] });
  });

  it("end with their line if an unquoted cell contains a single quote", () => {
    expect(read(['5" pipe,"a"\n', 'b,c\n"d\n', '",6" pipe\ne,f\n'])).to.deep.equal([
      { number: 1, cells: ['5" pipe', "a"] },
      { number: 2, cells: ["b", "c"] },
      { number: 3, cells: ["d\n", '6" pipe'] },
      { number: 5, cells: ["e", "f"] },
    ]);
  });

  it("are reported if they contain a line that is not UTF-8, and do not change the next one", () => {
    const invalid = Buffer.from([0xff]);
    expect(read(['"a\n', invalid, '\nb"\nc\n', invalid, ',"\nd\n"\ne'])).to.deep.equal([
      openQuote(1, 1),
      { ...openQuote(2, 1), issue: "not_utf8" },
      openQuote(3, 1),
      { number: 4, cells: ["c"] },
      { ...openQuote(5, 5), issue: "not_utf8" },
      openQuote(6, 5),
      openQuote(7, 5),
      { number: 8, cells: ["e"] },
    ]);
  });

  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  for (const [form, quote, end] of [
    ["quotes around every cell, and LF", quoted, "\n"],
    [
      "quotes where they are needed, and CR LF",
      (cell: string) => (/[,"\r\n]/.test(cell) ? quoted(cell) : cell),
      "\r\n",
    ],
  ] as const) {
    it(`are read as they were written, wherever the pieces are cut, with ${form}`, () => {
      const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", "\r", "é", " "), maxLength: 6 });
      const rows = fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 });
      fc.assert(
        fc.property(rows, fc.integer({ min: 1, max: 20 }), fc.boolean(), (cells, size, isEnded) => {
          const text =
            cells.map((row) => row.map(quote).join(",")).join(end) + (isEnded && cells.length > 0 ? end : "");
          const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
          expect(read(pieces).map((record) => record.cells)).to.deep.equal(cells);
        }),
      );
    });
  }
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

function openQuote(number: number, quote: number): CsvRecord {
  return { number, cells: undefined, issue: "open_quote", quote };
}

function read(pieces: readonly (string | Buffer)[]) {
  const splitter = new LineSplitter(1000, { forCsv: true });
  const reader = new CsvReader();
  const records = pieces.flatMap((piece) => reader.push(splitter.push(Buffer.from(piece as string))));
  return [...records, ...reader.push(splitter.end()), ...reader.end()];
}
