import { expect } from "chai";
import type { EntityStores } from "../../src/stores/stores.js";
import { freshEntity, keep, type Said } from "../support/commits.js";

export interface OpenIndex {
  readonly stores: Pick<EntityStores, "entities" | "memberships" | "catalogue">;
  close(): Promise<void>;
}

/** What every engine promises of memberships. `open` resolves with an empty index. */
export function membershipIndexContract(name: string, open: () => Promise<OpenIndex>) {
  describe(`${name}: membership index`, () => {
    let opened: OpenIndex;
    let serial = 0;
    const newSegment = () => `segment ${++serial}`;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const person = (...said: Said[]) => keep(opened.stores.entities, freshEntity(), { said });
    const remove = async (id: string) => {
      const { catalogue } = opened.stores;
      await catalogue.putSegment({ id, name: id, table: "user" });
      await catalogue.deleteSegment(id);
      for (let times = 0; times < 2; times += 1) await catalogue.endMemberships();
    };
    const at = (time: number) => ({ time, arrival: 1, position: 0 });

    it("counts members and overlaps", async () => {
      const { memberships } = opened.stores;
      const [s, t, empty] = [newSegment(), newSegment(), newSegment()];
      await person({ add: [s] });
      await person({ add: [s] }, { add: [t] });
      await person({ add: [s] }, { add: [t] }, { remove: [s], version: at(2) });
      expect(await memberships.sizes([t, empty, s])).to.deep.equal([2, 0, 2]);
      expect(await memberships.sizes([s])).to.deep.equal([2]);
      expect(await memberships.sizes([])).to.deep.equal([]);
      expect(await memberships.overlap(s, t)).to.equal(1);
      expect(await memberships.overlap(s, empty)).to.equal(0);
    });

    it("counts segments whose ids look like operators or like other ids", async () => {
      const segments = ["$add", "+x", "-x", "x", "a.b", "__proto__"];
      await person({ add: segments });
      expect(await opened.stores.memberships.sizes(segments)).to.deep.equal(segments.map(() => 1));
      await remove("$add");
      expect(await opened.stores.memberships.sizes(["$add", "x"])).to.deep.equal([0, 1]);
    });

    it("forgets a segment that was deleted, and takes new statements about it", async () => {
      const { memberships, entities } = opened.stores;
      const segment = newSegment();
      const member = await person({ add: [segment, "other"], version: at(5) });
      const former = await person({ remove: [segment], version: at(5) });
      await remove(segment);
      expect(await memberships.sizes([segment])).to.deep.equal([0]);
      const [now, later] = await Promise.all(
        [member, former].map(async ({ id }) => (await entities.load([id])).get(id)),
      );
      if (now === undefined || later === undefined) throw new Error("profiles stay");
      expect([...now.memberships.statements.keys()]).to.deep.equal(["other"]);
      await keep(entities, later, { said: [{ add: [segment], version: at(1) }] });
      expect(await memberships.sizes([segment])).to.deep.equal([1]);
    });

    it("forgets entities", async () => {
      const { memberships } = opened.stores;
      const segment = newSegment();
      const [gone, stays] = [
        await person({ add: [segment], full: true }),
        await person({ add: [segment], full: true }),
      ];
      expect(await memberships.holds([gone.id])).to.equal(true);
      for (let times = 0; times < 2; times += 1) await memberships.erase([gone.id]);
      expect(await memberships.holds([gone.id])).to.equal(false);
      expect(await memberships.holds([gone.id, stays.id])).to.equal(true);
      expect(await memberships.sizes([segment])).to.deep.equal([1]);
    });
  });
}
