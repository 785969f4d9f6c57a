import { expect } from "chai";
import { metricLine } from "../../src/http/line-points.js";
import { type LinePoint, parseLine } from "../../src/http/line-protocol.js";

describe("line protocol", () => {
  const good: [line: string, tags: Record<string, string>, fields: Record<string, unknown>, timestamp?: string][] = [
    ["m f=1", {}, { f: 1 }],
    ["m,a=b f=1.5 17", { a: "b" }, { f: 1.5 }, "17"],
    ["m,a=b,c=d f=-2i,g=3u -5", { a: "b", c: "d" }, { f: -2, g: 3 }, "-5"],
    ["  m f=1e3   99  ", {}, { f: 1000 }, "99"],
    [
      "m,a=with\\ blank,b=with\\,comma,c=with\\=equals f=1",
      { a: "with blank", b: "with,comma", c: "with=equals" },
      { f: 1 },
    ],
    ["m,a=back\\slash f=1", { a: "back\\slash" }, { f: 1 }],
    ["m,a=日本 f=.5", { a: "日本" }, { f: 0.5 }],
    ['m f="text, with blank and \\"quote\\"" 5', {}, { f: 'text, with blank and "quote"' }, "5"],
    ["m f=t,g=FALSE", {}, { f: true, g: false }],
    ["m f=9223372036854775807i,g=18446744073709551615u", {}, { f: 2 ** 63, g: 2 ** 64 }],
    ["m f=9223372036854775808i,g=18446744073709551616u", {}, { f: Number.NaN, g: Number.NaN }],
    ["m f=-9223372036854775808i,g=-9223372036854775809i", {}, { f: -(2 ** 63), g: Number.NaN }],
    ["m f=nan,g=1e999", {}, { f: Number.NaN, g: Number.NaN }],
    ["m f=9999999999999999999i,g=-1e3", {}, { f: Number.NaN, g: -1000 }],
  ];

  for (const [text, tags, fields, timestamp] of good) {
    it(`understands ${text}`, () => {
      const point = parseLine(text) as LinePoint;
      expect(point).to.have.property("measurement", "m");
      expect(Object.fromEntries(point.tags)).to.deep.equal(tags);
      expect(Object.fromEntries(point.fields)).to.deep.equal(fields);
      expect(point.timestamp).to.equal(timestamp);
    });
  }

  const bad = [
    "m",
    "m ",
    ",a=b f=1",
    "m,a f=1",
    "m,a= f=1",
    "m,a=b,a=c f=1",
    "m,=b f=1",
    "m,a=b=c f=1",
    "m f",
    "m f=",
    "m =1",
    "m f=1,",
    "m f=abc",
    "m f=0x10",
    "m f=1.2.3",
    "m f=1x",
    "m f=1,f=2",
    "m f=--1",
    "m f=-1u",
    'm f="open',
    'm f="a"b',
    "m f=1 12x",
    "m f=1 1.5",
    "m f=1 1 1",
    "m f=1 12345678901234567890",
    "m,a=b\\ f=1",
    "m f=1\\",
    "\\",
  ];

  for (const text of bad) {
    it(`finds a fault in ${JSON.stringify(text)}`, () => {
      expect(parseLine(text)).to.have.property("fault").that.is.a("string").and.not.contains(text);
    });
  }

  it("turns a timestamp into ms by its digits, so that none is rounded into the next slot", () => {
    const line = parseLine("stream,dimension_id=a value=1 1704070799999999999") as LinePoint;
    expect(metricLine(line, "ns")).to.have.property("ms", 1704070799999);
  });

  for (const [precision, timestamp] of [
    ["ns", "1704067200123456789"],
    ["us", "1704067200123456"],
    ["ms", "1704067200123"],
  ] as const) {
    it(`reads a timestamp in ${precision}`, () => {
      const line = parseLine(`stream,dimension_id=a value=1 ${timestamp}`) as LinePoint;
      expect(metricLine(line, precision)).to.have.property("ms", 1704067200123);
    });
  }
});
