import { expect } from "chai";
import { type BoundOptions, readBounds } from "../../src/commands/key-bounds.js";
import { UsageError } from "../../src/commands/run-command.js";
import type { Scope } from "../../src/keys/api-key.js";

const NOW = 1_700_000_000_000;

const read = (options: BoundOptions, scopes: readonly Scope[] = ["entity:read", "entity:write"]) =>
  readBounds(options, scopes, NOW, ["_uid", "email"]);

describe("the bounds of a new key", () => {
  const good: [BoundOptions, object][] = [
    [{}, {}],
    [{ stream: "web-1.A_b" }, { stream: "web-1.A_b" }],
    [{ eventStreams: true }, { eventStreams: true }],
    [{ fields: "plan, segments,meta,plan" }, { fields: ["plan", "segments", "meta"] }],
    [{ by: "email" }, { by: "email" }],
    [
      { origins: "https://A.example:443, http://b.example:8080/" },
      { origins: ["https://a.example", "http://b.example:8080"] },
    ],
    [{ origins: "https://a.example,https://A.example" }, { origins: ["https://a.example"] }],
    [
      { origins: "http://[::1]:80,http://bücher.example" },
      { origins: ["http://[::1]", "http://xn--bcher-kva.example"] },
    ],
    [{ rate: "1" }, { rate: 1 }],
    [{ expires: "90d" }, { expiresAt: NOW + 90 * 86_400_000 }],
    [{ expires: "5m" }, { expiresAt: NOW + 300_000 }],
  ];
  for (const [options, bounds] of good) {
    it(`are read from ${JSON.stringify(options)}`, () => expect(read(options)).to.deep.equal(bounds));
  }

  const bad: [Exclude<keyof BoundOptions, "eventStreams">, string][] = [
    ["stream", "a/b"],
    ["stream", ""],
    ["stream", "all_streams"],
    ["fields", ""],
    ["fields", "a,,b"],
    ["fields", "a\nb"],
    ["fields", "a".repeat(257)],
    ["by", "plan"],
    ["by", ""],
    ["by", "email,_uid"],
    ["origins", ""],
    ["origins", "*"],
    ["origins", "null"],
    ["origins", "a.example"],
    ["origins", "https://a.example,https://b.example/x"],
    ["origins", "https://a.example?x"],
    ["origins", "https://a@b.example"],
    ["origins", "https://a.example:99999"],
    ["origins", "file:///x"],
    ["rate", ""],
    ["rate", "0"],
    ["rate", "1.5"],
    ["rate", "-1"],
    ["rate", "10/s"],
    ["rate", "1000000001"],
    ["expires", ""],
    ["expires", "90"],
    ["expires", "0d"],
    ["expires", "3mo"],
    ["expires", "-1d"],
    ["expires", "999999999w"],
  ];
  for (const [name, value] of bad) {
    it(`are refused: --${name} ${JSON.stringify(value.slice(0, 40))}`, () => {
      expect(() => read({ [name]: value })).to.throw(UsageError, new RegExp(`^--${name}[: ]`));
    });
  }

  for (const scope of ["entity:delete", "entity:export", "admin"] as const) {
    it(`are refused with ${scope} if they concern data`, () => {
      for (const options of [{ stream: "web" }, { fields: "plan" }, { by: "email" }]) {
        expect(() => read(options, ["entity:read", scope])).to.throw(UsageError, `cannot be combined with ${scope}`);
      }
      const others = { origins: "https://a.example", rate: "5", expires: "1d" };
      expect(Object.keys(read(others, ["entity:read", scope]))).to.have.length(3);
    });
  }
});
