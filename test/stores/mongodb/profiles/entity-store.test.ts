import { expect } from "chai";
import type { EntityDocument } from "../../../../src/stores/mongodb/profiles/entity-document.js";
import { entityStoreContract } from "../../../contracts/entity-store.contract.js";
import { changeOf, commitOf, freshEntity, keep, newEntityId, newHash } from "../../../support/commits.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  entityStoreContract("mongodb", openTestEngine);

  it("stores a profile of the largest allowed size", async function () {
    this.timeout(120_000);
    const { stores, close } = await openTestEngine();
    const hashes = Array.from({ length: 300 }, newHash);
    const mergedIds = Array.from({ length: 300 }, newEntityId);
    // 10,000 segments, whose ids take 6 MiB.
    const add = Array.from({ length: 10_000 }, (_, at) => `${at} `.padEnd(629, "x"));
    const sealed = new Uint8Array(1_048_576);
    const kept = await keep(stores.entities, freshEntity(hashes, { mergedIds, sealed }), { said: [{ add }] });
    const changed = await keep(stores.entities, kept, { said: [{ remove: ["another"] }] });
    await close();
    expect(changed.memberships.updates.size).to.equal(10_001);
  });

  it("rejects a commit that was planned with a write which a change of primary rolled back", async () => {
    const { stores, client, name, close } = await openTestEngine();
    const profiles = client.db(name).collection<EntityDocument>("entities");
    const before = await keep(stores.entities, freshEntity());
    const document = (await profiles.findOne({ _id: before.id })) as EntityDocument;
    const seen = await keep(stores.entities, { ...before, sealed: Uint8Array.of(1) });
    // Simulates a member that was primary for a while, and whose last writes no other member has.
    await profiles.replaceOne({ _id: before.id }, document);
    const since = await keep(stores.entities, { ...before, sealed: Uint8Array.of(2) });
    const kept = await stores.entities.commit(commitOf([changeOf({ ...seen, sealed: Uint8Array.of(3) })]));
    const found = (await stores.entities.load([before.id])).profiles.get(before.id);
    await close();
    expect(kept).to.equal(false);
    expect(found).to.deep.equal(since);
  });
});
