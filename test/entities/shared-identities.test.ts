import fc from "fast-check";
import { amount, storesOnServers } from "../support/servers.js";
import { SharedWorld } from "./shared-identities.js";

const HISTORIES = amount(100, 12);

describe("P36: one person is one person", () => {
  const world = new SharedWorld();
  before(() => world.open());
  after(() => world.close());

  it(`in ${HISTORIES} histories of shared identities, deletions and repeats, however they are split into requests`, async function () {
    this.timeout(600_000);
    await fc.assert(world.onePersonIsOnePerson, { numRuns: HISTORIES, seed: 1, endOnFailure: storesOnServers });
  });
});
