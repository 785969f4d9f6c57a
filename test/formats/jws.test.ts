import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { calculateJwkThumbprint, compactVerify, importJWK } from "jose";
import { publicKeyOf, signJws } from "../../src/formats/jws.js";

describe("a signed payload", () => {
  const newPrivateKey = () => generateKeyPairSync("ed25519").privateKey;
  const key = newPrivateKey();
  const publicKey = publicKeyOf(key);
  const payload = { name: "zoë", at: 1 };
  const jws = signJws(payload, key);

  it("is verified by a JOSE library with its public key, which is named by its thumbprint", async () => {
    const { payload: bytes, protectedHeader } = await compactVerify(jws, await importJWK({ ...publicKey }));
    expect(JSON.parse(new TextDecoder().decode(bytes))).to.deep.equal(payload);
    expect(protectedHeader).to.deep.equal({ alg: "EdDSA", kid: publicKey.kid });
    expect(publicKey.kid).to.equal(await calculateJwkThumbprint({ ...publicKey }));
  });

  it("is the same text whenever it is signed with the same key", () => {
    expect(signJws(payload, key)).to.equal(jws);
    expect(signJws(payload, newPrivateKey())).to.not.equal(jws);
  });
});
