import { expect } from "chai";
import fc from "fast-check";
import { type Line, LineSplitter } from "../../src/formats/line-splitter.js";

describe("cutting bytes into lines", () => {
  const cases: { name: string; text: string | Buffer; lines: Line[] }[] = [
    { name: "gives each line its number", text: "a\nb\n", lines: [line(1, "a"), line(2, "b")] },
    { name: "takes the last line without an end", text: "a\nb", lines: [line(1, "a"), line(2, "b")] },
    { name: "leaves blank lines out, and counts them", text: "\n \na\n\r\n\nb", lines: [line(3, "a"), line(6, "b")] },
    { name: "takes carriage returns off", text: "a\r\nb\r\n", lines: [line(1, "a"), line(2, "b")] },
    { name: "keeps text of any script whole", text: "日本\nØ🦉", lines: [line(1, "日本"), line(2, "Ø🦉")] },
    { name: "finds nothing in nothing", text: "", lines: [] },
    {
      name: "marks a line that is too long, and goes on",
      text: `a\n${"x".repeat(17)}\n${"y".repeat(16)}\n`,
      lines: [line(1, "a"), issue(2, "too_long"), line(3, "y".repeat(16))],
    },
    {
      name: "counts a line's bytes, not its characters",
      text: "日本日本日\n日本日本日本\n",
      lines: [line(1, "日本日本日"), issue(2, "too_long")],
    },
    {
      name: "marks a line that is not UTF-8, and goes on",
      text: Buffer.concat([Buffer.from("a\n"), Buffer.of(0xff, 0xfe), Buffer.from("\nb\n")]),
      lines: [line(1, "a"), issue(2, "not_utf8"), line(3, "b")],
    },
  ];

  for (const { name, text, lines } of cases) {
    it(`${name}, whole or byte by byte`, () => {
      const bytes = Buffer.from(text as string);
      expect(split(bytes, bytes.length || 1)).to.deep.equal(lines);
      expect(split(bytes, 1)).to.deep.equal(lines);
    });
  }

  it("does not depend on where the chunks are cut", () => {
    const text = fc.array(fc.constantFrom("a", "bc", "\n", "\r\n", "é", "🦉", "0123456789"), { maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), (parts, size) => {
        const bytes = Buffer.from(parts.join(""));
        expect(split(bytes, size)).to.deep.equal(split(bytes, bytes.length || 1));
      }),
    );
  });

  it("buffers no more of an endless line than the maximum of a line", () => {
    const splitter = new LineSplitter(1000);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 2000; i += 1) splitter.push(Buffer.alloc(64 * 1024, "x"));
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(100_000_000);
    expect(splitter.end()).to.deep.equal([issue(1, "too_long")]);
  });
});

function split(bytes: Buffer, size: number): Line[] {
  const splitter = new LineSplitter(16);
  const lines: Line[] = [];
  for (let at = 0; at < bytes.length; at += size) lines.push(...splitter.push(bytes.subarray(at, at + size)));
  return [...lines, ...splitter.end()];
}

function line(number: number, text: string): Line {
  return { number, text };
}

function issue(number: number, what: NonNullable<Line["issue"]>): Line {
  return { number, text: "", issue: what };
}
