import { expect } from "chai";
import { aheadIssue, parseMessage } from "../../src/entities/collect/parse-message.js";
import { LONG_AGO, messageRules } from "../support/entity-stage.js";

const NOW = LONG_AGO + 1_000_000;
const parse = (json: unknown) => parseMessage(json, messageRules());

/** A list in a list and so on, `depth` deep. */
function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 1; i < depth; i += 1) value = [value];
  return value;
}

describe("a message", () => {
  it("has identities, attributes, segments and a time", () => {
    const body = { _uid: [1, "1", "b"], email: "A@x.org", name: null, deep: { a: [1] }, at: LONG_AGO };
    expect(parse(body)).to.deep.equal({
      body,
      identities: [
        { field: "email", value: "a@x.org" },
        { field: "_uid", value: "1" },
        { field: "_uid", value: "b" },
      ],
      attributes: [
        ["name", null],
        ["deep", { a: [1] }],
        ["at", LONG_AGO],
      ],
      segments: undefined,
      time: LONG_AGO,
    });
  });

  for (const [what, segments, said] of [
    ["a full list", ["b", "a", "b"], { add: ["b", "a"], remove: [], full: true }],
    ["an empty full list", [], { add: [], remove: [], full: true }],
    ["additions and removals", { add: ["a"], remove: ["b"] }, { add: ["a"], remove: ["b"], full: false }],
    ["additions alone", { add: ["a"] }, { add: ["a"], remove: [], full: false }],
    ["nothing", null, undefined],
  ] as const) {
    it(`may contain ${what} of segments`, () => {
      expect(parse({ _uid: "a", segments }).segments).to.deep.equal(said);
    });
  }

  it("may have any attribute names and depths within the limits", () => {
    const message = { _uid: "a", ["x".repeat(256)]: 1, ["\u{1f600}".repeat(256)]: 2, deep: nested(15), " ": 3 };
    expect(parse(message).attributes).to.have.length(4);
  });

  it("has no time when its field is absent or null", () => {
    expect(parse({ _uid: "a" }).time).to.equal(undefined);
    expect(parse({ _uid: "a", at: null }).time).to.equal(undefined);
  });

  const ids = (count: number) => Array.from({ length: count }, (_, i) => `s${i}`);
  for (const [what, json, code, path, message] of [
    ["no object", "x", "not_an_object", ""],
    ["a list", [{ _uid: "a" }], "not_an_object", ""],
    ["null", null, "not_an_object", ""],
    ["more attributes than an entity can hold", Object.fromEntries(ids(25_001).map((id) => [id, 1])), "too_many_names"],
    ["no identity", { name: "x" }, "no_identity", ""],
    ["empty lists of identities", { _uid: [] }, "no_identity", ""],
    ["a bad identity among good ones", { _uid: ["a", null] }, "invalid_identity", "_uid"],
    ["an identity that is an object", { email: { $ne: "" } }, "invalid_identity", "email"],
    [
      "more values than an entity may hold",
      { _uid: Array.from({ length: 101 }, (_, i) => i) },
      "too_many_values",
      "_uid",
    ],
    ["a name too long", { _uid: "a", ["x".repeat(257)]: 1 }, "invalid_name", ""],
    ["an empty name", { _uid: "a", "": 1 }, "invalid_name", ""],
    ["__proto__ as a name", JSON.parse('{"_uid":"a","__proto__":{"polluted":1}}'), "invalid_name", ""],
    ["__proto__ further in", JSON.parse('{"_uid":"a","x":[{"__proto__":1}]}'), "invalid_name", ""],
    ["16 levels in a value", { _uid: "a", deep: nested(16) }, "too_deep", ""],
    ["100,000 levels", { _uid: "a", deep: nested(100_000) }, "too_deep", ""],
    [
      "a number beyond all",
      JSON.parse('{"_uid":"a","x":1e309}'),
      "invalid_number",
      "",
      / \(attribute 2 of the message\)$/,
    ],
    ["a number beyond all as an identity", JSON.parse('{"_uid":1e309}'), "invalid_number", "_uid", /string$/],
    ["a number beyond all as a time", JSON.parse('{"_uid":"a","at":1e309}'), "invalid_number", "timestampField"],
    ["a number beyond all as a segment", JSON.parse('{"_uid":"a","segments":[1e309]}'), "invalid_number", "segments"],
    ["segments that are a text", { _uid: "a", segments: "s" }, "invalid_segments", "segments"],
    ["segments with another field", { _uid: "a", segments: { set: [] } }, "invalid_segments", "segments"],
    ["added segments that are no list", { _uid: "a", segments: { add: "s" } }, "invalid_segments", "segments"],
    ["a segment that is a number", { _uid: "a", segments: [1] }, "invalid_segments", "segments"],
    ["a segment with a bad id", { _uid: "a", segments: { remove: ["sizes"] } }, "invalid_segments", "segments"],
    ["a segment both added and removed", { _uid: "a", segments: { add: ["a"], remove: ["a"] } }, "invalid_segments"],
    ["too many segments", { _uid: "a", segments: ids(1001) }, "invalid_segments", "segments"],
    ["a time that is none", { _uid: "a", at: "Tue" }, "invalid_time", "timestampField"],
    ["a time that is a list", { _uid: "a", at: [LONG_AGO] }, "invalid_time", "timestampField"],
    ["a time before 1970", { _uid: "a", at: -1 }, "invalid_time", "timestampField"],
  ] as [string, unknown, string, string?, RegExp?][]) {
    it(`is refused with ${what}`, () => {
      const thrown = expect(() => parse(json)).to.throw();
      thrown.with.nested.property("issues[0].code", code);
      if (message !== undefined) thrown.with.nested.property("issues[0].message").that.matches(message);
      if (path !== undefined) thrown.with.nested.property("issues[0].path", path);
    });
  }

  it("may name a time at most 10 minutes ahead", () => {
    const issueOf = (at: number) => aheadIssue(parse({ _uid: "a", at }), NOW);
    expect(issueOf(NOW + 600_000)).to.equal(undefined);
    expect(issueOf(NOW + 600_001)).to.include({ code: "time_ahead", path: "timestampField" });
    expect(aheadIssue(parse({ _uid: "a" }), NOW)).to.equal(undefined);
  });
});
