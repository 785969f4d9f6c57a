import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { checkQuery, readFlag, readQuery } from "../../src/http/query.js";

const read = (querystring: string) => readQuery({ querystring }, ["a", "b"]);

describe("a query", () => {
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
    it(`${JSON.stringify(query)} says ${JSON.stringify(values)}`, () => expect(read(query)).to.deep.equal(values));
  }

  for (const [query, code] of [
    ["a=%", "bad_encoding"],
    ["a=%ED%A0%80", "bad_encoding"],
  ] as const) {
    it(`${JSON.stringify(query)} is refused as ${code}`, () => expect(codeOf(() => read(query))).to.equal(code));
  }

  const closed = { query: ["a", "b"], openQuery: false };
  const none = { query: [], openQuery: false };
  const open = { query: ["a", "b"], openQuery: true };
  const any = { query: [], openQuery: true };
  for (const [query, route, code] of [
    ["a=1&b=2&key=3", closed, undefined],
    ["&&a=1&", closed, undefined],
    ["a=1&a=1", closed, "given_twice"],
    ["a=1&%61=2", open, "given_twice"],
    ["c=1&c=2", open, "given_twice"],
    ["%zz&%zz", open, "given_twice"],
    ["key=1&key=1", any, "given_twice"],
    ["c=1&d=2", open, undefined],
    ["c=1&d=2", any, undefined],
    ["c=1", closed, "unknown_parameter"],
    ["A=1", closed, "unknown_parameter"],
    ["=", closed, "unknown_parameter"],
    ["a=1", none, "unknown_parameter"],
    ["1&2&3&4", any, undefined],
    ["1&2&3&4&5", any, "too_many_parameters"],
    ["1&2&3&4&5", closed, "too_many_parameters"],
  ] as const) {
    it(`${JSON.stringify(query)} is ${code ?? "let through"} where ${JSON.stringify(route)} is known`, () => {
      expect(codeOf(() => checkQuery(query, route, 4))).to.equal(code);
    });
  }

  it("has flags that are exactly true or false", () => {
    expect([readFlag("true", "a"), readFlag("false", "a"), readFlag(undefined, "a")]).to.deep.equal([
      true,
      false,
      undefined,
    ]);
    for (const value of ["", "TRUE", "1", "yes", "true "])
      expect(codeOf(() => readFlag(value, "a"))).to.equal("bad_flag");
  });
});

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof ServiceError ? error.problems[0]?.code : String(error);
  }
}
