import { expect } from "chai";
import fc from "fast-check";
import { stream } from "../../src/metrics/dimensions/stream.js";
import { slotClaimsCollections } from "../../src/stores/mongodb/slot-claim-documents.js";
import { mongoSlotClaims } from "../../src/stores/mongodb/slot-claims.js";
import type { Stores } from "../../src/stores/stores.js";
import { slotClaimsContract } from "../contracts/slot-claims.contract.js";
import { heldDatabase } from "../support/held-database.js";
import { chosenBy, Interleaving, ordersOfChance } from "../support/interleaving.js";
import { openTestDatabase, type TestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";
import { SlotRace } from "../support/slot-races.js";
import { temporaryStores } from "../support/temporary-stores.js";

onServers(["mongodb"], "mongodb", () => {
  slotClaimsContract("mongodb", async () => {
    const { db, close } = await openTestDatabase(slotClaimsCollections);
    return { claims: mongoSlotClaims(db), close };
  });

  describe("slot claims in several processes", () => {
    let database: TestDatabase;
    let embedded: Stores;

    beforeEach(async () => {
      database = await openTestDatabase(slotClaimsCollections);
      embedded = await temporaryStores({ inMemory: true });
    });
    afterEach(async () => {
      await database.close();
      await embedded.close();
    });

    const process = (turn: () => Promise<void>) => mongoSlotClaims(heldDatabase(database.db, turn));
    const race = () =>
      new SlotRace({ claims: mongoSlotClaims(database.db), series: embedded.series, inTurns: process });

    for (const { what, begin, ends } of [
      { what: "a recorder with a size, and a writer", begin: () => race().recorder(5).writer(100), ends: [100] },
      {
        what: "two recorders with counts, and a writer",
        begin: () => race().recorder(5, { grows: true }).recorder(7, { grows: true }).writer(100),
        ends: [100],
      },
      {
        what: "a recorder, one that finishes what it has begun, and a writer that writes twice",
        begin: () => race().recorder(5).finisher().writer(100, 200),
        ends: [200],
      },
      {
        what: "a recorder that dies, another one, and two writers",
        begin: () => race().recorder(5, { calls: 3, late: true }).recorder(6).writer(100).writer(200),
        ends: [100, 200],
      },
      {
        what: "two recorders with counts alone",
        begin: () => race().recorder(5, { grows: true }).recorder(7, { grows: true }).finisher(),
        ends: [9_999],
      },
    ]) {
      it(`end with the value of whoever wrote points, whichever calls to the server come first: ${what}`, async () => {
        await fc.assert(
          fc.asyncProperty(ordersOfChance, async (chosen) => {
            const all = begin();
            await all.run(chosenBy(chosen));
            expect(ends).to.include(await all.value());
          }),
          { numRuns: 12 },
        );
      });
    }

    for (const { what, grows } of [
      { what: "the first value", grows: false },
      { what: "the largest value", grows: true },
    ]) {
      it(`keep ${what} of three processes that claim the same slots, and all see it`, async () => {
        let rounds = 0;
        await fc.assert(
          fc.asyncProperty(ordersOfChance, async (chosen) => {
            rounds += 1;
            const series = { dimension: stream, id: `claimed ${rounds}`, type: "size" };
            const samples = [1, 2, 3].map((value) => [0, 1].map((slot) => ({ series, slot: slot * 3_600_000, value })));
            const interleaving = new Interleaving();
            const seen: number[][] = [];
            const actors = samples.map((own, at) => ({
              name: `${at}`,
              async work() {
                const claims = process(() => interleaving.turn(`${at}`));
                await claims.claim(own, { grows });
                const confirmed = await claims.confirm(own);
                seen[at] = confirmed.map(({ value }) => value);
              },
            }));
            await interleaving.run(actors, chosenBy(chosen));
            const kept = (await mongoSlotClaims(database.db).claimed(samples[0] ?? [])).map(({ value }) => value);
            expect(kept).to.have.length(2);
            if (grows) expect(kept).to.deep.equal([3, 3]);
            else expect(seen).to.deep.equal([kept, kept, kept]);
          }),
          { numRuns: 12 },
        );
      });
    }

    it("give a lease to one of three that want it at the same moment", async () => {
      for (let round = 0; round < 10; round += 1) {
        const now = round * 10;
        const taken = await Promise.all(
          ["a", "b", "c"].map((owner) => mongoSlotClaims(database.db).lease("recorder", owner, now, now + 10)),
        );
        expect(taken.filter(Boolean)).to.have.length(1);
      }
    });
  }).timeout(60_000);
});
