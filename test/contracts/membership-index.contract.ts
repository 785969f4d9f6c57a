import { expect } from "chai";
import type { EntityStores } from "../../src/stores/stores.js";
import { changeOf, commitOf, freshEntity, keep, type Said } from "../support/commits.js";

export interface OpenIndex {
  readonly stores: Pick<EntityStores, "entities" | "memberships" | "catalogue">;
  close(): Promise<void>;
}

/** Promises of every engine on memberships. `open` resolves with an empty index. */
export function membershipIndexContract(name: string, open: () => Promise<OpenIndex>) {
  describe(`the membership index of ${name}`, () => {
    let opened: OpenIndex;
    let serial = 0;
    const newSegment = () => `segment ${++serial}`;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const person = (...said: Said[]) => keep(opened.stores.entities, freshEntity(), { said });
    const put = (id: string) => opened.stores.catalogue.putSegment({ id, name: id, table: "user" });
    const remove = async (id: string, at = DELETED_AT) => {
      await put(id);
      expect(await opened.stores.catalogue.deleteSegment(id, at)).to.equal("deleted");
    };
    const removeVoid = async () => {
      while (await opened.stores.catalogue.endMemberships());
    };
    const stored = async ({ id }: { readonly id: string }) => {
      const entity = (await opened.stores.entities.load([id])).profiles.get(id);
      if (entity === undefined) throw new Error("profiles stay");
      return entity;
    };
    /** Ids of the segments that a profile has an update about. */
    const stated = async (entity: { readonly id: string }) => [...(await stored(entity)).memberships.updates.keys()];
    const at = (time: number, arrival = time) => ({ time, arrival, position: 0 });
    const DELETED_AT = 10_000;
    /** Arrivals by clocks that are behind and ahead of the deletion's clock. */
    const BEHIND = at(DELETED_AT - 5_000);
    const AHEAD = at(DELETED_AT + 5_000);

    it("counts the members of segments, and the members that two segments share", async () => {
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

    it("lists the ids of members in order, in pages of any size", async () => {
      const { memberships } = opened.stores;
      const [s, t] = [newSegment(), newSegment()];
      const members: string[] = [];
      for (let n = 0; n < 7; n += 1) members.push((await person({ add: [s] }, { add: [t] })).id);
      await person({ add: [s] }, { remove: [s], version: at(2) });
      await person({ add: [t] });
      members.sort();
      for (const limit of [1, 2, 7, 100]) {
        const found: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await memberships.members(s, after, limit);
          found.push(...page);
          after = page.at(-1);
          if (page.length < limit) break;
        }
        expect(found, `by ${limit}`).to.deep.equal(members);
      }
      expect(await memberships.members(newSegment(), undefined, 9)).to.deep.equal([]);
      await memberships.erase([members[0] as string]);
      expect(await memberships.members(s, undefined, 9)).to.deep.equal(members.slice(1));
    });

    it("counts segments whose ids look like operators or like other ids", async () => {
      const segments = ["$add", "+x", "-x", "x", "a.b", "__proto__"];
      await person({ add: segments });
      expect(await opened.stores.memberships.sizes(segments)).to.deep.equal(segments.map(() => 1));
      await remove("$add");
      expect(await opened.stores.memberships.sizes(["$add", "x"])).to.deep.equal([0, 1]);
    });

    for (const [when, settle] of [
      ["before void updates are removed", async () => {}],
      ["after void updates are removed", removeVoid],
    ] as const) {
      describe(`a segment that was deleted, ${when}`, () => {
        for (const version of [BEHIND, AHEAD]) {
          it(`has no member from messages that arrived earlier, at ${version.arrival}`, async () => {
            const [segment, other] = [newSegment(), newSegment()];
            const member = await person({ add: [segment, other], version });
            const former = await person({ remove: [segment], version });
            await remove(segment);
            await settle();
            const { memberships } = opened.stores;
            expect(await memberships.sizes([segment, other])).to.deep.equal([0, 1]);
            expect(await memberships.sizes([segment])).to.deep.equal([0]);
            expect(await memberships.overlap(segment, other)).to.equal(0);
            expect(await memberships.overlap(other, segment)).to.equal(0);
            expect(await stated(member)).to.deep.equal([other]);
            expect(await stated(former)).to.deep.equal([]);
          });
        }

        for (const [first, second] of [
          [BEHIND, AHEAD],
          [AHEAD, BEHIND],
        ] as const) {
          for (const [what, said] of [
            ["a membership", { add: true }],
            ["a full list", { add: true, full: true }],
            ["a full list without the segment", { add: false, full: true }],
          ] as const) {
            it(`has only the members of later messages, at ${second.arrival} after ${what} at ${first.arrival}`, async () => {
              const [segment, other] = [newSegment(), newSegment()];
              const add = said.add ? [segment, other] : [other];
              const one = await person({ ...said, add, version: first });
              const two = await person({ ...said, add, version: first });
              await remove(segment);
              await settle();
              await put(segment);
              const { memberships, entities } = opened.stores;
              await keep(entities, await stored(one), { said: [{ add: [segment], version: second }] });
              for (const again of [async () => {}, removeVoid]) {
                await again();
                expect(await memberships.sizes([segment])).to.deep.equal([1]);
                expect(await memberships.overlap(segment, other)).to.equal(1);
                expect((await stated(one)).sort()).to.deep.equal([segment, other].sort());
                expect(await stated(two)).to.deep.equal([other]);
              }
            });
          }
        }

        it("gets a member from a message with an event time only if the time is after the deletion", async () => {
          const segment = newSegment();
          await remove(segment);
          await settle();
          for (const [time, members] of [
            [DELETED_AT, 0],
            [DELETED_AT + 1, 1],
          ] as const) {
            await person({ add: [segment], version: at(time, AHEAD.arrival) });
            expect(await opened.stores.memberships.sizes([segment])).to.deep.equal([members]);
          }
        });

        it("gets no member from a commit that was planned before its deletion", async () => {
          const segment = newSegment();
          const { entities } = opened.stores;
          const { deletions } = await entities.find([], 0, [segment]);
          const change = changeOf(freshEntity(), [{ add: [segment], version: AHEAD }], [], deletions);
          await remove(segment);
          await settle();
          const commit = commitOf([change], {
            generation: deletions.newest,
            segments: [{ id: segment, table: "user" }],
          });
          expect(await entities.commit(commit)).to.equal(false);
          expect((await opened.stores.catalogue.segmentsById([segment])).get(segment)).to.equal(undefined);
        });
      });
    }

    it("removes the void updates of thousands of members in several calls", async () => {
      const segment = newSegment();
      const { deletions } = await opened.stores.entities.find([], 0, [segment]);
      const changes = Array.from({ length: 2_500 }, () => changeOf(freshEntity(), [{ add: [segment] }], [], deletions));
      const commitAll = (some: typeof changes) =>
        opened.stores.entities.commit(commitOf(some, { generation: deletions.newest }));
      for (let from = 0; from < changes.length; from += 500)
        expect(await commitAll(changes.slice(from, from + 500))).to.equal(true);
      await remove(segment);
      expect(await opened.stores.catalogue.endMemberships()).to.equal(true);
      expect(await opened.stores.memberships.sizes([segment])).to.deep.equal([0]);
      await removeVoid();
      expect(await opened.stores.memberships.sizes([segment])).to.deep.equal([0]);
    });

    it("erases the memberships of an entity", async () => {
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
