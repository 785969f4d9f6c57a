import { expect } from "chai";
import { splitArray, splitObject, startOf } from "../../src/formats/json-array.js";

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
    ['[[],[[1],[2,3]],[{"a":[4]},5],["]",6]]', ["[]", "[[1],[2,3]]", '[{"a":[4]},5]', '["]",6]']],
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
    ["[[1,2", 5],
    ["[[1,2]", 6],
  ];
  for (const [text, at] of broken) {
    it(`is broken at byte ${at}: ${text}`, () => expect(split(text)?.brokenAt).to.equal(at));
  }

  it("is searched for one element more than its limit, and no further", () => {
    const counted = (count: number) => split(`[${Array(count).fill("{}").join()}]`, 3)?.ends.length;
    expect([2, 3, 4, 5, 100].map(counted)).to.deep.equal([2, 3, 4, 4, 4]);
  });
});

describe("the lists of a JSON object in bytes", () => {
  const split = (text: string, { limit = 100, restBytes = 100 } = {}) => {
    const { lists, rest, offsetOf } = splitObject(Buffer.from(text), ["list", "other"], { limit, restBytes });
    const found = Array.from(lists, ([name, list]) => [
      name,
      list.ends.map((end, i) => list.bytes.toString("utf8", startOf(list, i), end)),
    ]);
    return { found: Object.fromEntries(found), rest: rest.toString(), end: offsetOf(rest.length) };
  };

  const objects: [text: string, found: object, rest: string][] = [
    ['{"list":[1,{"a":[2]}],"b":"ü"}', { list: ["1", '{"a":[2]}'] }, '{"list":[],"b":"ü"}'],
    [
      '{"other":[[1],[2]],"b":[3],"list":["ü"]}',
      { other: ["[1]", "[2]"], list: ['"ü"'] },
      '{"other":[],"b":[3],"list":[]}',
    ],
    [' { "list" : [ ] } ', { list: [] }, ' { "list" : [] } '],
    [
      '{"a":{"list":[1]},"b":["list",[2]],"c":"list","list":["]"]}',
      { list: ['"]"'] },
      '{"a":{"list":[1]},"b":["list",[2]],"c":"list","list":[]}',
    ],
    ['{"list":1,"list":[2],"list":[3]}', { list: ["2"] }, '{"list":1,"list":[],"list":[3]}'],
    ['{"list":[1,2', { list: ["1", "2"] }, '{"list":['],
    ['{"list":[1}', { list: ["1"] }, '{"list":[}'],
  ];
  for (const [text, found, rest] of objects) {
    it(`are split off, and found nowhere but in the object itself: ${text}`, () => {
      expect(split(text)).to.deep.equal({ found, rest, end: Buffer.byteLength(text) });
    });
  }

  it("are not found in another value", () => {
    const others = ["", "[]", "7", '"list"', '"list":[1]', '{"lists":[1]}', '{"list":{"list":[1]}}', '{"\\"list":[1]}'];
    for (const text of others) expect(split(text), text).to.deep.include({ found: {}, rest: text });
  });

  it("are searched for one element more than the limit", () => {
    expect(split('{"list":[1,2,3,4]}', { limit: 2 }).found).to.deep.equal({ list: ["1", "2", "3"] });
  });

  it("are searched in the first bytes, which do not include other lists", () => {
    const text = '{"list":[1,2,3,4],"other":[5]}';
    expect(split(text, { restBytes: 11 }).found).to.deep.equal({ list: ["1", "2", "3", "4"] });
    expect(split(text, { restBytes: 12 }).found).to.deep.equal({ list: ["1", "2", "3", "4"], other: ["5"] });
  });
});
