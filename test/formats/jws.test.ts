import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { base64url, CompactSign, compactVerify, importJWK } from "jose";
import { checkJws, publicKeyOf, signJws } from "../../src/formats/jws.js";

describe("a signed payload", () => {
  const newPrivateKey = () => generateKeyPairSync("ed25519").privateKey;
  const key = newPrivateKey();
  const publicKey = publicKeyOf(key);
  const payload = { name: "zoë", at: 1 };
  const jws = signJws(payload, key);

  it("is verified here and by another JOSE library", async () => {
    expect(checkJws(jws, [publicKey])).to.deep.equal({ payload });
    const { payload: bytes, protectedHeader } = await compactVerify(jws, await importJWK({ ...publicKey }));
    expect(JSON.parse(new TextDecoder().decode(bytes))).to.deep.equal(payload);
    expect(protectedHeader).to.deep.equal({ alg: "EdDSA", kid: publicKey.kid });
  });

  it("is the same text whenever it is signed with the same key", () => {
    expect(signJws(payload, key)).to.equal(jws);
    expect(signJws(payload, newPrivateKey())).to.not.equal(jws);
  });

  it("of another JOSE library is verified, whatever other keys are given", async () => {
    const signed = await new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
      .setProtectedHeader({ alg: "EdDSA", kid: publicKey.kid })
      .sign(key);
    const others = [null, "x", {}, { kty: "RSA", kid: publicKey.kid }, publicKeyOf(newPrivateKey())];
    expect(checkJws(signed, [...others, publicKey])).to.deep.equal({ payload });
    expect(checkJws(signed, others)).to.have.property("issue");
  });

  it("is refused if any of its characters is changed", () => {
    for (let i = 0; i < jws.length; i += 1) {
      const other = jws[i] === "A" ? "B" : "A";
      const changed = jws.slice(0, i) + other + jws.slice(i + 1);
      expect(checkJws(changed, [publicKey]), String(i)).to.have.property("issue");
    }
  });

  const [header = "", body = "", signature = ""] = jws.split(".");
  const withHeader = (value: object) => `${base64url.encode(JSON.stringify(value))}.${body}.${signature}`;
  for (const [name, text] of [
    ["it is empty", ""],
    ["it has two parts", `${header}.${body}`],
    ["it has four parts", `${jws}.${signature}`],
    ["its signature is empty", `${header}.${body}.`],
    ["it says that it is not signed", withHeader({ alg: "none", kid: publicKey.kid })],
    ["it is signed in another way", withHeader({ alg: "HS256", kid: publicKey.kid })],
    ["it must be understood in another way", withHeader({ alg: "EdDSA", kid: publicKey.kid, crit: ["exp"] })],
    ["its header is no object", `${base64url.encode("null")}.${body}.${signature}`],
  ] as const) {
    it(`is refused if ${name}`, () => {
      expect(checkJws(text, [publicKey])).to.have.property("issue");
    });
  }

  it("is refused with an invalid public key, or with another key of the same id", () => {
    expect(checkJws(jws, [{ ...publicKey, x: "AAAA" }])).to.have.property("issue");
    expect(checkJws(jws, [{ ...publicKeyOf(newPrivateKey()), kid: publicKey.kid }])).to.have.property("issue");
  });
});
