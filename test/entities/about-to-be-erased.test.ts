import { expect } from "chai";
import { type EntityStage, entityStage, LONG_AGO } from "../support/entity-stage.js";

describe("an identity whose holder an erasure is about to take in", () => {
  let stage: EntityStage;
  beforeEach(async () => {
    stage = await entityStage();
  });
  afterEach(() => stage.close());

  it("is left to its holder until the erasure names that one, and then goes to a fresh profile", async () => {
    const { ledger, entities, entityKeys } = stage.stores;
    const hash = stage.hashIdentity("user", { field: "email", value: "ann@example.org" });
    await stage.collect([{ email: "ann@example.org", _uid: "a", at: LONG_AGO, old: true }]);
    const before = await entities.owners([hash]);
    const holder = before.get(hash) as string;
    // A request that was accepted when a writer had just not saved the holder yet.
    const requestId = `${"a".repeat(20)}-1`;
    const sealer = "5".repeat(32);
    await entityKeys.create([sealer]);
    const now = stage.arrivals();
    await ledger.accept({
      requestId,
      table: "user",
      identity: hash,
      acceptedAt: now,
      cutOff: now,
      entities: [sealer],
      hashes: [hash],
      sealer,
      sealedIdentities: new Uint8Array(),
      targets: [],
      done: [],
      attempts: 0,
      notBefore: 0,
      revision: 1,
      completedAt: undefined,
    });

    let taken = false;
    const newer = stage.collect([{ email: "ann@example.org", young: true }]).then(() => {
      taken = true;
    });
    for (let looks = 0; looks < 10; looks += 1) await entities.load([holder]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(taken).to.equal(false);
    expect(await entities.owners([hash])).to.deep.equal(before);

    await ledger.extend(requestId, 1, { entities: [holder] });
    await newer;
    expect(await stage.read("email", "ann@example.org")).to.deep.equal({
      email: "ann@example.org",
      young: true,
      segments: [],
    });
    expect(await stage.read("_uid", "a")).to.equal(undefined);
  });
});
