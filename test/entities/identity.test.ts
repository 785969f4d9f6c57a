import { createHmac } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import type { IdentityField } from "../../src/entities/profile/entity-tables.js";
import { identityField, identityOf } from "../../src/entities/profile/identity.js";
import { identityHashing } from "../../src/entities/profile/identity-hash.js";
import { userTable } from "../support/entity-stage.js";

const canonical = (field: string, raw: unknown) =>
  identityOf(userTable, identityField(userTable, field) as IdentityField, raw).value;

describe("identities", () => {
  for (const [what, field, one, other] of [
    ["NFC and NFD forms", "user_id", "caf\u00e9", "cafe\u0301"],
    ["surrounding blanks", "user_id", " \t42\u00a0", "42"],
    ["a number and its text", "user_id", 42, "42"],
    ["a negative number and its text", "_uid", -7, "-7"],
    ["the case of e-mail addresses", "email", "Ann@Example.ORG ", "ann@example.org"],
  ] as const) {
    it(`are equal despite ${what}`, () => {
      expect(canonical(field, one)).to.equal(canonical(field, other));
    });
  }

  for (const [what, field, one, other] of [
    ["leading zeros", "user_id", "042", "42"],
    ["the case of an id", "user_id", "A", "a"],
  ] as const) {
    it(`differ by ${what}`, () => {
      expect(canonical(field, one)).to.not.equal(canonical(field, other));
    });
  }

  for (const bytes of [32, 64, 100]) {
    it(`are hashed by HMAC-SHA-256 of their length-prefixed parts, with a pepper of ${bytes} bytes`, () => {
      const pepper = Buffer.alloc(bytes, "pepper");
      const hmac = createHmac("sha256", pepper).update("\0\0\0\x04user\0\0\0\x05email\0\0\0\x03\u00e9x");
      expect(identityHashing(pepper)("user", { field: "email", value: "\u00e9x" })).to.equal(hmac.digest("hex"));
    });
  }

  it("do not change once they are in normal form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), fc.constantFrom("_uid", "email"), (raw, field) => {
        let once: string;
        try {
          once = canonical(field, raw);
        } catch {
          return;
        }
        expect(canonical(field, once)).to.equal(once);
      }),
      { numRuns: 2000 },
    );
  });

  for (const [what, raw, code] of [
    ["an empty value", "", "empty_identity"],
    ["blanks alone", " \n", "empty_identity"],
    ["null", null, "invalid_identity"],
    ["a flag", true, "invalid_identity"],
    ["an object", { $ne: null }, "invalid_identity"],
    ["a fraction", 1.5, "invalid_identity"],
    ["a number that is not safe", 2 ** 53, "invalid_identity"],
    ["infinity", Number.POSITIVE_INFINITY, "invalid_identity"],
    ["a control character", "a\u0000b", "invalid_identity"],
    ["half a surrogate pair", "a\ud800", "invalid_identity"],
    ["1,025 bytes", `${"\u00e9".repeat(512)}x`, "identity_too_long"],
    ["1,025 bytes, of which blanks are trimmed", `${" ".repeat(1_024)}x`, "identity_too_long"],
    ["1,025 bytes that NFC would make 1,024", `e\u0301${"x".repeat(1_022)}`, "identity_too_long"],
    ["1,024 bytes that NFC makes longer", "\ufb2c".repeat(341), "identity_too_long"],
  ] as const) {
    it(`refuse ${what}`, () => {
      expect(() => canonical("_uid", raw))
        .to.throw()
        .with.nested.property("issues[0].code", code);
    });
  }

  for (const value of [
    ...["anonymous", " N/A", "null", "(null)", "<nil>", "nil", "undefined", "none", "Unknown", "#N/A", "NA", "NaN"],
    ...["\\N", "true", "FALSE", "[object Object]", "[Object object]", '"null"', "'undefined'", "' None '"],
    ...[
      "0",
      0,
      "00",
      "-",
      "--",
      "\u2014",
      "\u2212",
      "...",
      "???",
      "0.0",
      "00000000-0000-0000-0000-000000000000",
      '""',
      '"0"',
    ],
  ]) {
    it(`refuse ${JSON.stringify(value)}, which identifies no one`, () => {
      expect(() => canonical("_uid", value))
        .to.throw()
        .with.nested.property("issues[0].code", "placeholder_identity");
    });
  }

  for (const value of ["10", "-1", "nullius", "nan@example.com", "truely", "O'Brien", "'", "n", "0x0", "a-0"]) {
    it(`accept ${value}, which resembles a value that identifies no one`, () => {
      expect(canonical("_uid", value)).to.equal(value);
    });
  }

  for (const value of [
    ...["ann", "ann@", "@example.com", "ann@@example.com", "ann@b@c", "ann @example.com", "a\u00a0b@example.com"],
    ...["ann@example.com,", "a@b.c;d@e.f", '"ann@example.com"', "Ann <ann@example.com>", "mailto:<a@b.c>"],
    ...["\u200bann@example.com", "ann@example.com\u202c", "an\u00adn@example.com"],
  ]) {
    it(`refuse the e-mail address ${value}`, () => {
      expect(() => canonical("email", value))
        .to.throw()
        .with.nested.property("issues[0].code", "invalid_identity");
    });
  }

  for (const value of ["o'brien@example.com", "ann+news@example.com", "ann@localhost", "\u00e4nn@ex\u00e4mple.de"]) {
    it(`accept the e-mail address ${value}`, () => {
      expect(canonical("email", value)).to.equal(value);
    });
  }

  it("may have 1,024 bytes", () => {
    expect(canonical("_uid", "\u00e9".repeat(512))).to.have.length(512);
  });

  it("have only the fields of the table", () => {
    for (const name of [
      "name",
      "",
      "__proto__",
      "constructor",
      "EMAIL",
      "e-mail",
      "email.$ne",
      "$where",
      "segments",
      "_id",
      "*",
    ]) {
      expect(identityField(userTable, name), name).to.equal(undefined);
    }
  });

  it("have a different hash for each pepper, table, field and value", () => {
    const peppers = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const hashes = peppers.flatMap((pepper) =>
      ["t", "tf"].flatMap((table) =>
        ["f", "ff"].flatMap((field) => ["v", "fv"].map((value) => identityHashing(pepper)(table, { field, value }))),
      ),
    );
    expect(new Set(hashes)).to.have.property("size", 16);
    for (const hash of hashes) expect(hash).to.match(/^[0-9a-f]{64}$/);
    expect(identityHashing(Buffer.alloc(32, 1))("t", { field: "f", value: "v" })).to.equal(hashes[0]);
  });
});
