import { expect } from "chai";
import { jsonErrorAt, positionAfter } from "../../src/formats/json-error.js";

describe("the position of an error in JSON", () => {
  const broken: [text: string, at: number][] = [
    ["", 0],
    ["  ", 2],
    ["x", 0],
    ["NaN", 0],
    ["'a'", 0],
    ["[1, 2", 5],
    ["[1,, 2]", 3],
    ["[1, 2,]", 6],
    ["[1 2]", 3],
    ["[1}", 2],
    ['{"a" 1}', 5],
    ['{"a": 1,}', 8],
    ["{a: 1}", 1],
    ['{"a": 1 "b": 2}', 8],
    ['{"a": tru}', 6],
    ["01", 1],
    ["1.", 1],
    ["-", 0],
    ['"a', 2],
    ['"a\\', 2],
    ['"\\x"', 1],
    ['"\\u12g4"', 1],
    ['"a\nb"', 2],
    ['{"a": 1} x', 9],
    ["[1]]", 3],
    ['\ufeff{"a": 1}', 0],
  ];
  for (const [text, at] of broken) {
    it(`is ${at} in ${JSON.stringify(text)}`, () => {
      expect(() => JSON.parse(text)).to.throw();
      expect(jsonErrorAt(text)).to.equal(at);
    });
  }

  it("is the end of a text that is valid JSON", () => {
    const values = [0, -1.5e-7, true, null, 'a"\\\u{1f600}\u2028', [], {}, [[], [{}]], { a: [1, { b: null }], "": "" }];
    for (const text of [...values.map((value) => JSON.stringify(value, undefined, 2)), ' [ 1 , "\\u00e4\\/" ] \r\n'])
      expect(jsonErrorAt(text), text).to.equal(text.length);
  });

  it("is found in a text of 100,000 levels and in one with a string of 8 MiB", () => {
    expect(jsonErrorAt("[".repeat(100_000))).to.equal(100_000);
    const long = `["${"x\\n".repeat(8 * 2 ** 18)}"`;
    expect(jsonErrorAt(`${long},]`)).to.equal(long.length + 1);
  });

  it("has a line and a column, counted from 1", () => {
    expect(positionAfter("")).to.deep.equal({ line: 1, column: 1 });
    expect(positionAfter('{\n  "a"')).to.deep.equal({ line: 2, column: 6 });
    expect(positionAfter("\n\n")).to.deep.equal({ line: 3, column: 1 });
  });
});
