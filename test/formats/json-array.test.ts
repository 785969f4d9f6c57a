import { expect } from "chai";
import { splitArray, startOf } from "../../src/formats/json-array.js";

const split = (text: string, limit = 100) => splitArray(Buffer.from(text), limit);

function elements(text: string): string[] | undefined {
  const array = split(text);
  return array?.ends.map((end, i) => array.bytes.toString("utf8", startOf(array, i), end));
}

describe("a JSON array in bytes", () => {
  const arrays: [text: string, found: string[]][] = [
    ["[]", []],
    [" [ ] ", []],
    ["[1]", ["1"]],
    ["[ 1 ,\n2 ]", [" 1 ", "\n2 "]],
    ['[{"a":[1,2]},[3,4],"ü"]', ['{"a":[1,2]}', "[3,4]", '"ü"']],
    ['[",]}[{","\\",","\\\\",5]', ['",]}[{"', '"\\","', '"\\\\"', "5"]],
    ["[1,,2,]", ["1", "", "2", ""]],
  ];
  for (const [text, found] of arrays) {
    it(`is split into its ${found.length} elements: ${text}`, () => {
      expect(elements(text)).to.deep.equal(found);
      expect(split(text)?.brokenAt).to.equal(undefined);
    });
  }

  it("is not found in another value", () => {
    for (const text of ["", " ", "{}", '"[]"', "1", "x[1]"]) expect(split(text), text).to.equal(undefined);
  });

  const broken: [text: string, at: number][] = [
    ["[1, 2", 5],
    ["[", 1],
    ['[1, "2]', 7],
    ['["\\', 3],
    ["[1] x", 4],
    ["[1]]", 3],
    ["[1}", 2],
    ["[{]}]", 3],
  ];
  for (const [text, at] of broken) {
    it(`is broken at byte ${at}: ${text}`, () => expect(split(text)?.brokenAt).to.equal(at));
  }

  it("is searched for one element more than its limit, and no further", () => {
    const counted = (count: number) => split(`[${Array(count).fill("{}").join()}]`, 3)?.ends.length;
    expect([2, 3, 4, 5, 100].map(counted)).to.deep.equal([2, 3, 4, 4, 4]);
  });
});
