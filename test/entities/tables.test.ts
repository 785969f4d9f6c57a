import { expect } from "chai";
import { tableNamed, tablesOf } from "../../src/entities/profile/entity-tables.js";
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
    expect(device).to.deep.equal({
      name: "device",
      identities: [
        { name: "serial", normalForm: "text" },
        { name: "owner_mail", normalForm: "email" },
      ],
      defaultIdentity: "owner_mail",
      maxValues: 3,
      nobody: new Set(["factory"]),
    });
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
  ] as const) {
    it(`are refused with ${what}, with the place in the message`, () => {
      expect(() => tablesOf(json)).to.throw(/^tables/);
    });
  }
});
