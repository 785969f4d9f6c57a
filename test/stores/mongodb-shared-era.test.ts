import { expect } from "chai";
import { mongoSharedEra, sharedEraCollections } from "../../src/stores/mongodb/shared-era.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

onServers(["mongodb"], "the shared era on MongoDB", () => {
  it("begins somewhere, and every rise is seen by all processes", async () => {
    const { db, close } = await openTestDatabase(sharedEraCollections);
    const [one, two] = [mongoSharedEra(db), mongoSharedEra(db)];
    const seen = [await two.read()];
    for (const era of [one, two, one]) {
      await era.raise();
      seen.push(await two.read());
    }
    await close();
    expect(seen).to.deep.equal([0, 1, 2, 3]);
  });

  it("takes rises of several processes at once, also the first", async () => {
    const { db, close } = await openTestDatabase(sharedEraCollections);
    await Promise.all(Array.from({ length: 10 }, () => mongoSharedEra(db).raise()));
    const era = await mongoSharedEra(db).read();
    await close();
    expect(era).to.be.greaterThan(0);
  });
});
