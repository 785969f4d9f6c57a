import { expect } from "chai";
import fc from "fast-check";
import { readUsualPoint } from "../../src/http/points/usual-point.js";
import { WritableSeries } from "../../src/metrics/writable-points.js";

const known = new WritableSeries();

/** Returns the point in the middle of an array; undefined if it is left to JSON. */
function read(text: string) {
  const before = '[{"ts":1,"value":2},';
  const bytes = Buffer.from(`${before}${text},{"ts":3,"value":4}]`);
  return readUsualPoint(bytes, before.length, before.length + Buffer.byteLength(text), known);
}

const names = '"dimension":"stream","dimension_id":"orders","dimension_type":"size"';

describe("a point read from its bytes", () => {
  it("has the names and the numbers that JSON has, or is left to it", () => {
    const number = fc.oneof(
      fc.integer().map(String),
      fc.tuple(fc.integer(), fc.nat(999_999)).map(([whole, decimals]) => `${whole}.${decimals}`),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.constantFrom("-0", "0.10", "01", "1.", ".5", "-", "1e3", "null", '"1"', "123456789012345", "1234567890123456"),
    );
    const blank = fc.constantFrom("", "", " ", "\n");
    const id = fc
      .oneof(fc.string({ minLength: 1 }), fc.constantFrom("orders", 'a"b', "a,b", "ü", "a\\b"))
      .map((text) => JSON.stringify(text));
    const point = fc.tuple(id, number, number, blank, fc.boolean()).map(([id, value, ts, blank, isTsFirst]) => {
      const numbers = [`"ts":${blank}${ts}`, `"value":${value}`];
      if (!isTsFirst) numbers.reverse();
      return `{"dimension":"stream",${blank}"dimension_id":${id},"dimension_type":"size",${blank}${numbers.join(",")}${blank}}`;
    });
    let usual = 0;
    fc.assert(
      fc.property(point, (text) => {
        const found = read(text);
        if (found === undefined) return;
        usual += 1;
        const { dimension_id, value, ts } = JSON.parse(text);
        expect({ id: found.series.id, value: found.value, ts: found.ts }).to.deep.equal({
          id: dimension_id,
          value,
          ts,
        });
      }),
      { numRuns: 3_000 },
    );
    expect(usual).to.be.above(200);
  });

  for (const text of [
    `{${names},"ts":1.5,"value":1}`,
    `{${names},"ts":1,"ts":2}`,
    `{${names},"ts":1,"value":2,"ts":1,"value":2}`,
    `{${names},"unit":"x","ts":1,"value":2}`,
    `{${names.replace("stream", "nothing")},"ts":1,"value":2}`,
    `{${names},"ts":1,"value":2} `,
    `{${names},"ts":1,"value":2}}`,
    `{{${names},"ts":1,"value":2}`,
    `{"ts":1,"value":2}`,
    `[${names},"ts":1,"value":2}`,
    "7",
    "",
  ]) {
    it(`is left to JSON: ${text}`, () => {
      expect(read(text)).to.equal(undefined);
      expect(read(text)).to.equal(undefined);
    });
  }
});
