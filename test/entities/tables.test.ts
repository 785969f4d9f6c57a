import { expect } from "chai";
import { type Table, tableNamed, tablesOf } from "../../src/entities/profile/entity-tables.js";
import { shippedTables } from "../support/entity-stage.js";

describe("tables", () => {
  it("have the shipped names and identities", () => {
    expect([...shippedTables.keys()]).to.deep.equal(["user", "account", "company", "content", "product", "url"]);
    const user = tableNamed(shippedTables, "user");
    expect(user.defaultIdentity).to.equal("_uid");
    expect(user.maxValues).to.equal(100);
    expect(user.identities).to.deep.equal([
      { name: "_uid", normalForm: "text" },
      { name: "user_id", normalForm: "text" },
      { name: "email", normalForm: "email" },
    ]);
    expect([...user.protectedFields]).to.deep.equal(["user_id"]);
    expect(user.strongestFirst).to.deep.equal(["user_id", "email", "_uid"]);
    for (const { name, protectedFields, defaultIdentity } of shippedTables.values()) {
      if (name !== "user") expect([...protectedFields], name).to.deep.equal([defaultIdentity]);
    }
  });

  it("have the properties of their file, and defaults for the others", () => {
    const [device] = tablesOf([
      {
        name: "device",
        identities: ["serial", { name: "owner_mail", normal_form: "email" }],
        default_identity: "owner_mail",
        max_values: 3,
        nobody: ["Factory"],
      },
    ]).values();
    const { isNobody, ...properties } = device as Table;
    expect(properties).to.deep.equal({
      name: "device",
      identities: [
        { name: "serial", normalForm: "text" },
        { name: "owner_mail", normalForm: "email" },
      ],
      defaultIdentity: "owner_mail",
      maxValues: 3,
      protectedFields: new Set(),
      strongestFirst: ["serial", "owner_mail"],
      nobody: ["Factory"],
      hasCommonNobody: true,
    });
    expect(["FACTORY", "null"].map(isNobody)).to.deep.equal([true, true]);
  });

  it("accept common values that identify no one with common_nobody: false", () => {
    const [country] = tablesOf([
      { name: "country", identities: ["code"], nobody: ["XX"], common_nobody: false },
    ]).values();
    expect(["NA", "-", "0", "xx"].map((value) => country?.isNobody(value))).to.deep.equal([false, false, false, true]);
  });

  const good = { name: "device", identities: ["serial"] };
  for (const [what, json] of [
    ["no list", {}],
    ["an empty list", []],
    ["a table that is no object", ["device"]],
    ["the name deletestatus", [{ ...good, name: "deletestatus" }]],
    ["the name segments", [{ ...good, name: "segments" }]],
    ["a name with a slash", [{ ...good, name: "a/b" }]],
    ["the same name twice", [good, good]],
    ["no identities", [{ ...good, identities: [] }]],
    ["the identity segments", [{ ...good, identities: ["segments"] }]],
    ["the identity __proto__", [{ ...good, identities: ["__proto__"] }]],
    ["the same identity twice", [{ ...good, identities: ["serial", { name: "serial" }] }]],
    ["an unknown normal form", [{ ...good, identities: [{ name: "serial", normal_form: "upper" }] }]],
    ["a default that is no identity", [{ ...good, default_identity: "x" }]],
    ["no room for values", [{ ...good, max_values: 0 }]],
    ["nobody as a word", [{ ...good, nobody: "x" }]],
    ["common_nobody as a word", [{ ...good, common_nobody: "no" }]],
    ["a protected field that is no identity", [{ ...good, protected: ["email"] }]],
    ["a protected field twice", [{ ...good, protected: ["serial", "serial"] }]],
    ["strongest_first without an identity", [{ ...good, identities: ["serial", "mac"], strongest_first: ["mac"] }]],
    ["strongest_first with another field", [{ ...good, strongest_first: ["serial", "mac"] }]],
  ] as const) {
    it(`are refused with ${what}, with the place in the message`, () => {
      expect(() => tablesOf(json)).to.throw(/^tables/);
    });
  }
});
