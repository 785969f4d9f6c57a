import { expect } from "chai";
import fc from "fast-check";
import {
  type LinePoint,
  metricLine,
  parseLine,
  parseLineFastPath,
  precisions,
  writeNumber,
  writeTags,
} from "../../src/formats/line-protocol.js";

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
    // Two backslashes before a special character: the first is literal, the second escapes it.
    ["m,a=left\\\\ right f=1", { a: "left\\ right" }, { f: 1 }],
    ["m,a=left\\\\  f=1", { a: "left\\ " }, { f: 1 }],
    ["m,a=x\\\\,\\,\\=y f=1", { a: "x\\,,=y" }, { f: 1 }],
    ["m,left\\\\=right=b f=1", { "left\\=right": "b" }, { f: 1 }],
    ['m,a=\\n\\"\\t f=1', { a: '\\n\\"\\t' }, { f: 1 }],
    ["m le\\\\\\,ft=1", {}, { "le\\\\,ft": 1 }],
    ['m,a=19",b="x" f=1', { a: '19"', b: '"x"' }, { f: 1 }],
    ["m,a=tab\tand\u0001more f=1", { a: "tab\tand\u0001more" }, { f: 1 }],
    ['m f="tab\t, and \\\\" 7', {}, { f: "tab\t, and \\" }, "7"],
    ["m a=T,b=F,c=True,d=False,e=TRUE", {}, { a: true, b: false, c: true, d: false, e: true }],
    ["m f=0000000000000000000000042i,g=-007i,h=000u", {}, { f: 42, g: -7, h: 0 }],
    ["m f=-0009223372036854775808i,g=00018446744073709551615u", {}, { f: -(2 ** 63), g: 2 ** 64 }],
    ["m f=000.50,g=5.,h=-.5e-1", {}, { f: 0.5, g: 5, h: -0.05 }],
    ["m f=1 9223372036854775807", {}, { f: 1 }, "9223372036854775807"],
    ["m f=1 -9223372036854775808", {}, { f: 1 }, "-9223372036854775808"],
    ["m f=1 0000000001704067200000000000", {}, { f: 1 }, "1704067200000000000"],
    ["m f=1 -0", {}, { f: 1 }, "-0"],
  ];

  for (const [text, tags, fields, timestamp] of good) {
    it(`is read from ${text}`, () => {
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
    "m f=1 9223372036854775808",
    "m f=1 -9223372036854775809",
    "m f=1 -",
    "m f=1 +5",
    "m f=.",
    "m f=1e",
    "m f=1.i",
    "m f=-i",
    "m f=tRUE",
    "m, f=1",
    "m,a=b, f=1",
    "m,a=b,a=b f=1",
    "\tm f=1",
    "m\u0001 f=1",
    "m\u000b,a=b f=1",
    "m,a\u0001=b f=1",
    "m,a\u007f=b f=1",
    "m f\u0001=1",
    "m \tf=1",
    "m,a=b\rc f=1",
    "m f=1\r 5",
    "m left\\\\=1",
    'm left\\\\="',
    'm f="open\\"',
    "m,a=b\\ f=1",
    "m f=1\\",
    "\\",
  ];

  for (const text of bad) {
    it(`is rejected if it is ${JSON.stringify(text)}`, () => {
      expect(parseLine(text)).to.have.property("issue").that.is.a("string").and.not.contains(text);
    });
  }

  it("is read back as it was written", () => {
    const part = fc.constantFrom(..."ab\\,= \"'é🦉#\t".split(""), "\\\\");
    const id = fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => `${parts.join("")}.`);
    fc.assert(
      fc.property(id, id, fc.double({ noNaN: true, noDefaultInfinity: true }), (a, b, value) => {
        const line = parseLine(`${writeTags("stream", { a, b })}value=${writeNumber(value)} 17`) as LinePoint;
        expect(Object.fromEntries(line.tags)).to.deep.equal({ a, b });
        expect(Object.is(line.fields.get("value"), value)).to.equal(true);
        expect(line.timestamp).to.equal("17");
      }),
    );
  });

  it("keeps a backslash in a measurement, except before a comma or a blank", () => {
    expect(parseLine("a\\=b\\,c\\ d\\\\ e f=1")).to.have.property("measurement", "a\\=b,c d\\ e");
  });

  it("has timestamps cut to ms by their digits, so that none is rounded into the next slot", () => {
    const line = parseLine("stream,dimension_id=a value=1 1704070799999999999") as LinePoint;
    expect(metricLine(line, "ns")).to.have.property("ms", 1704070799999);
  });

  for (const [precision, timestamp] of [
    ["ns", "1704067200123456789"],
    ["us", "1704067200123456"],
    ["ms", "1704067200123"],
  ] as const) {
    it(`has timestamps in ${precision}`, () => {
      const line = parseLine(`stream,dimension_id=a value=1 ${timestamp}`) as LinePoint;
      expect(metricLine(line, precision)).to.have.property("ms", 1704067200123);
    });
  }

  describe("of the usual form", () => {
    it("is read in one pass with the same result as by its parts", () => {
      const head = "stream,dimension_id=a,dimension_type=size";
      const timestamp = "1704070799999999999";
      const line = parseLineFastPath(`${head} value=42i ${timestamp}`, "ns");
      expect(line).to.deep.equal({ head, value: 42, ms: 1704070799999, timestamp });
    });

    it("is never read differently than by its parts", () => {
      const words = ["0", "-0", "007", "42i", "-7i", "1.5", ".5e3", "1e999", "12345678901234567", "9007199254740993i"];
      const value = fc.constantFrom(...words, "-0i", "nan", "3u", "t", '"x y"', "", "1,other=2", "+1", "1_0");
      const time = fc.constantFrom(
        "0",
        "000123",
        "1704067200123456789",
        "170406720012345678",
        "9223372036854775808",
        "8999999999999999999",
        "-5",
        "",
        "1.5",
        "17 ",
      );
      const head = fc.constantFrom("stream", "stream,dimension_id=a", "a\\ b", "a\\ value=1", ",", "", "m,a=b,a=b");
      const name = fc.constantFrom("value=", "value=", "value =", "other=", " value=");
      const line = fc
        .tuple(head, name, value, time)
        .map(([head, name, value, time]) => `${head} ${name}${value} ${time}`);
      fc.assert(
        fc.property(line, fc.constantFrom(...precisions), (text, precision) => {
          const usual = parseLineFastPath(text, precision);
          if (usual === undefined) return;
          expect(text.startsWith(`${usual.head} value=`), text).to.equal(true);
          const point = parseLine(text);
          // An issue of the head is found when the head is read for the first time.
          if ("issue" in point) return;
          const whole = metricLine(point, precision);
          if (usual.head.includes("\\")) return;
          expect(whole, text).to.include({ ms: usual.ms, dimension: point.measurement });
          expect(Object.is((whole as { value: number }).value, usual.value), text).to.equal(true);
        }),
        { numRuns: 5_000 },
      );
    });
  });
});
