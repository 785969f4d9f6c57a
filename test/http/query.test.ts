import { Type } from "@sinclair/typebox";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { queryReader } from "../../src/http/core/query.js";

const texts = { a: Type.String(), b: Type.String() };
const read = readerOf({ method: "GET", query: texts, unknownQuery: "ignore" });

function readerOf(route: Parameters<typeof queryReader>[0]) {
  const reader = queryReader(route);
  return (query: string) => reader(query).values;
}

describe("the query", () => {
  for (const [query, values] of [
    ["", {}],
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a", { a: "" }],
    ["a=", { a: "" }],
    ["a=b=c", { a: "b=c" }],
    ["&&a=1&", { a: "1" }],
    ["a=x+y%2Bz", { a: "x y+z" }],
    ["%61=%C3%A9%F0%9F%98%80", { a: "é😀" }],
    ["c=1&b=3", { b: "3" }],
    ["%zz=1&c=%zz&__proto__=1", {}],
    ["A=1", {}],
  ] as const) {
    it(`${JSON.stringify(query)} has the values ${JSON.stringify(values)}`, () =>
      expect(read(query)).to.deep.equal(values));
  }

  for (const [query, code] of [
    ["a=%", "invalid_encoding"],
    ["a=%ED%A0%80", "invalid_encoding"],
  ] as const) {
    it(`${JSON.stringify(query)} is refused with the code ${code}`, () =>
      expect(codeOf(() => read(query))).to.equal(code));
  }

  it("has a list of the values of a parameter whose schema is an array, also of a single one", () => {
    const reader = readerOf({ method: "GET", query: { "m[]": Type.Array(Type.String()), b: Type.String() } });
    expect(reader("m[]=1&b=x&m%5B%5D=&m[]=1")).to.deep.equal({ "m[]": ["1", "", "1"], b: "x" });
    expect(reader("m[]=1,2")).to.deep.equal({ "m[]": ["1,2"] });
    expect(reader("")).to.deep.equal({});
    expect(codeOf(() => reader("m[]=1&b=x&b=y"))).to.equal("duplicate");
  });

  const closed = { method: "GET", query: texts } as const;
  const none = { method: "POST" } as const;
  const open = { method: "GET", query: texts, unknownQuery: "ignore" } as const;
  const any = { method: "GET" } as const;
  for (const [query, route, code] of [
    ["a=1&b=2&key=3", closed, undefined],
    ["&&a=1&", closed, undefined],
    ["a=1&a=1", closed, "duplicate"],
    ["a=1&%61=2", open, "duplicate"],
    ["c=1&c=2", open, "duplicate"],
    ["%zz&%zz", open, "duplicate"],
    ["key=1&key=1", any, "duplicate"],
    ["c=1&d=2", open, undefined],
    ["c=1&d=2", any, undefined],
    ["c=1", closed, "unknown_parameter"],
    ["A=1", closed, "unknown_parameter"],
    ["=", closed, "unknown_parameter"],
    ["a=1", none, "unknown_parameter"],
  ] as const) {
    it(`${JSON.stringify(query)} is ${code ?? "accepted"} on a ${route.method} of ${JSON.stringify(route)}`, () => {
      expect(codeOf(() => readerOf(route)(query))).to.equal(code);
    });
  }

  for (const [query, key] of [
    ["a=1", undefined],
    ["key=", undefined],
    ["key=em_%31_2", "em_1_2"],
  ] as const) {
    it(`${JSON.stringify(query)} has the key ${key}`, () => {
      expect(queryReader(any)(query).key).to.equal(key);
    });
  }

  it("of an HTML page is not checked", () => {
    const page = { method: "GET", unknownQuery: "unchecked" } as const;
    expect(queryReader(page)("a=1&a=%&b=2")).to.deep.equal({ values: {}, key: undefined });
  });

  const issue = { code: "invalid_limit", message: "limit is a whole number from 1 to 9" };
  const types = {
    flag: Type.Boolean(),
    limit: Type.Integer({ minimum: 1, maximum: 9, default: 5, issue }),
    unit: Type.String({ enum: ["s", "ms"], issue: { code: "invalid_unit", message: "s or ms" } }),
    note: Type.String({ minLength: 1 }),
  };
  const typed = readerOf({ method: "GET", query: types });
  for (const [query, values] of [
    ["", { limit: 5 }],
    ["flag=true&limit=9&unit=ms&note=", { flag: true, limit: 9, unit: "ms", note: "" }],
    ["flag=false&limit=01", { flag: false, limit: 1 }],
  ] as const) {
    it(`${JSON.stringify(query)} is ${JSON.stringify(values)} with the types and defaults of its schemas`, () => {
      expect(typed(query)).to.deep.equal(values);
    });
  }

  const refused: [string, string][] = [
    ...["", "TRUE", "1", "yes", "true%20"].map((value): [string, string] => [`flag=${value}`, "invalid_flag"]),
    ...["", "0", "10", "1.5", "1e0", "0x1", "-1", "%201", "1000000"].map((value): [string, string] => [
      `limit=${value}`,
      "invalid_limit",
    ]),
    ["unit=", "invalid_unit"],
    ["unit=S", "invalid_unit"],
  ];
  for (const [query, code] of refused) {
    it(`${JSON.stringify(query)} is refused with the code ${code} of its schema`, () => {
      expect(codeOf(() => typed(query))).to.equal(code);
    });
  }
});

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof ServiceError ? error.issues[0]?.code : String(error);
  }
}
