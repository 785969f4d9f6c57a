import { generateKeyPairSync } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from "jose";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { findBytes } from "../support/files.js";
import { removeThrough } from "../support/requests.js";
import { serviceOfSuite, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

interface Claims {
  readonly accepted_at: string;
  readonly completed_at: string;
  readonly targets: readonly { readonly name: string; readonly verified_at: string }[];
}

describe("the receipt of a deletion", () => {
  const service = serviceOfSuite();

  const erase = (of: TestService, name: string) => removeThrough(of, `email/${name}@example.org`);
  const receipt = async (of: TestService, id: string) => {
    let response = await of.fetch(`/api/deletion/${id}/receipt`);
    await until("it is completed", async () => {
      response = await of.fetch(`/api/deletion/${id}/receipt`);
      return response.status === 200;
    });
    expect(response.headers.get("content-type")).to.match(/^application\/jose/);
    expect(response.headers.get("cache-control")).to.equal("no-store");
    return response.text();
  };
  const keysOf = async (of: TestService) => {
    const response = await of.fetch("/.well-known/jwks.json", { key: null });
    expect(response.status).to.equal(200);
    return (await response.json()) as { keys: { kty: string; crv: string; x: string; kid: string }[] };
  };

  it("can be verified with the public key, and contains targets and times but no identity", async () => {
    await service.fetch("/collect/json/web", { method: "POST", json: { email: "ann@example.org" } });
    const id = await erase(service, "ann");
    const jws = await receipt(service, id);
    const jwks = await keysOf(service);
    const { payload } = await compactVerify(jws, createLocalJWKSet(jwks));
    expect(decodeProtectedHeader(jws)).to.deep.equal({ alg: "EdDSA", kid: jwks.keys[0]?.kid });
    const claims = JSON.parse(Buffer.from(payload).toString()) as Claims;
    expect(claims).to.have.all.keys(
      "request_id",
      "accepted_at",
      "cut_off",
      "completed_at",
      "targets",
      "service",
      "version",
    );
    expect(claims).to.include({ request_id: id, service: "entity-metrics" });
    expect(claims.targets.map(({ name }) => name)).to.deep.equal(ownTargets);
    for (const { verified_at } of claims.targets) {
      expect(verified_at >= claims.accepted_at && verified_at <= claims.completed_at).to.equal(true);
    }
    expect(JSON.stringify(claims)).to.not.include("ann");
    expect(Object.keys(jwks.keys[0] ?? {}).sort()).to.deep.equal(["alg", "crv", "kid", "kty", "use", "x"]);
  });

  it("is 409 while the deletion is open, and 404 for an unknown deletion", async () => {
    const target = { name: "crm", url: "http://127.0.0.1:9/hooks", token: "secret" };
    const waiting = await startService({ deletions: { targets: [target] } });
    const { status } = await waiting.fetch(`/api/deletion/${await erase(waiting, "cy")}/receipt`);
    expect(status).to.equal(409);
    expect((await service.fetch(`/api/deletion/${"0".repeat(20)}-1/receipt`)).status).to.equal(404);
  });

  describe("embedded", () => {
    it("remains valid with restored data, and no file contains its private key unencrypted", async () => {
      let own = await startService();
      const { dir } = own;
      await own.stop({ keep: true });
      copyFileSync(join(dir, "entities.db"), join(dir, "copy.db"));
      own = await startService({}, { dir });
      const id = await erase(own, "eve");
      const jws = await receipt(own, id);
      await own.stop({ keep: true });
      copyFileSync(join(dir, "copy.db"), join(dir, "entities.db"));
      own = await startService({}, { dir });
      await compactVerify(jws, createLocalJWKSet(await keysOf(own)));
      expect(await receipt(own, id)).to.equal(jws);
      const asItIs = generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" });
      const start = asItIs.subarray(0, 12);
      expect(findBytes(dir, [start, Buffer.from(start.toString("base64"))])).to.deep.equal([]);
    });
  });
});
