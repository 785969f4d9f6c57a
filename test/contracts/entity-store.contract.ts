import { expect } from "chai";
import type { StoredEntity } from "../../src/entities/entity.js";
import type { EntityChange, EntityStore } from "../../src/entities/entity-store.js";

/** What every engine promises of live profiles. `open` hands out an empty store. */
export function entityStoreContract(name: string, open: () => Promise<{ store: EntityStore; close(): Promise<void> }>) {
  describe(`${name}: entity store`, () => {
    let store: EntityStore;
    let close: () => Promise<void>;

    before(async () => {
      ({ store, close } = await open());
    });
    after(() => close());

    let serial = 0;
    const newId = () => (++serial).toString(16).padStart(32, "0");
    const newHash = () => (++serial).toString(16).padStart(64, "0");

    function entity(hashes: readonly string[], more: Partial<StoredEntity> = {}): StoredEntity {
      const bindings = hashes.map((hash) => ({ hash, since: 5 }));
      return {
        id: newId(),
        table: "user",
        revision: 0,
        born: 1000.25,
        bindings,
        joined: [],
        sealed: Uint8Array.of(1, 2, 3),
        ...more,
      };
    }

    const change = (kept: StoredEntity, more: Partial<EntityChange> = {}): EntityChange => {
      return { entity: kept, absorbs: [], releasedBy: [], ...more };
    };

    async function keep(kept: StoredEntity): Promise<StoredEntity> {
      expect(await store.save([change(kept)])).to.deep.equal([true]);
      return { ...kept, revision: kept.revision + 1 };
    }

    async function stateOf(id: string) {
      return (await store.load([id])).get(id);
    }

    it("hands out what was saved, with its revision gone up by one", async () => {
      const hashes = [newHash(), newHash()];
      const kept = await keep(entity(hashes));
      expect(await stateOf(kept.id)).to.deep.equal({ state: "live", entity: kept });
      expect(await store.owners([...hashes, newHash()])).to.deep.equal(new Map(hashes.map((hash) => [hash, kept.id])));
      expect(await store.load([newId()])).to.deep.equal(new Map());
      const again = await keep({ ...kept, sealed: Uint8Array.of(9) });
      expect(await stateOf(kept.id)).to.deep.equal({ state: "live", entity: again });
    });

    it("does not save over another revision", async () => {
      const first = await keep(entity([newHash()]));
      const second = await keep({ ...first, sealed: Uint8Array.of(7) });
      expect(await store.save([change({ ...first, sealed: Uint8Array.of(8) })])).to.deep.equal([false]);
      expect(await store.save([change({ ...first, revision: 0 })])).to.deep.equal([false]);
      expect(await store.save([change(entity([], { revision: 3 }))])).to.deep.equal([false]);
      expect(await stateOf(first.id)).to.deep.equal({ state: "live", entity: second });
    });

    it("says what entities take before they are loaded", async () => {
      const [a, b, c, nobody] = [newHash(), newHash(), newHash(), newHash()];
      const small = await keep(entity([a], { sealed: Uint8Array.of(1, 2, 3) }));
      const large = await keep(entity([b, c], { sealed: new Uint8Array(100_000) }));
      expect(await store.weigh([a, b, c, nobody])).to.deep.equal(
        new Map([
          [a, { entity: small.id, bytes: 3 }],
          [b, { entity: large.id, bytes: 100_000 }],
          [c, { entity: large.id, bytes: 100_000 }],
        ]),
      );
      expect(await store.weigh([nobody])).to.deep.equal(new Map());
    });

    it("does not take an identity that belongs to somebody else", async () => {
      const [mine, taken] = [newHash(), newHash()];
      const owner = await keep(entity([taken]));
      const thief = entity([mine, taken]);
      expect(await store.save([change(thief)])).to.deep.equal([false]);
      expect(await store.owners([mine, taken])).to.deep.equal(new Map([[taken, owner.id]]));
      expect(await stateOf(thief.id)).to.equal(undefined);
    });

    it("takes an identity over from an id whose hold on it is void", async () => {
      const hash = newHash();
      const doomed = await keep(entity([hash]));
      const fresh = entity([hash]);
      expect(await store.save([change(fresh, { releasedBy: [doomed.id] })])).to.deep.equal([true]);
      expect(await store.owners([hash])).to.deep.equal(new Map([[hash, fresh.id]]));
    });

    it("keeps or refuses each change on its own", async () => {
      const good = entity([newHash()]);
      const bad = entity([newHash()], { revision: 4 });
      expect(await store.save([change(bad), change(good)])).to.deep.equal([false, true]);
      expect(await stateOf(bad.id)).to.equal(undefined);
      expect((await stateOf(good.id))?.state).to.equal("live");
    });

    it("joins: absorbed ids end in the entity, and their identities lead there", async () => {
      const [a, b] = [newHash(), newHash()];
      const root = await keep(entity([a]));
      const other = await keep(entity([b]));
      const unborn = newId();
      const joined = [other.id, unborn];
      const united = {
        ...root,
        joined,
        bindings: [
          { hash: a, since: 5 },
          { hash: b, since: 2 },
        ],
      };
      const absorbs = [
        { id: other.id, revision: other.revision },
        { id: unborn, revision: 0 },
      ];
      expect(await store.save([change(united, { absorbs })])).to.deep.equal([true]);
      const ids = [root.id, other.id, unborn];
      expect(await store.load(ids)).to.deep.equal(
        new Map([
          [root.id, { state: "live", entity: { ...united, revision: root.revision + 1 } }],
          [other.id, { state: "joined", into: root.id }],
          [unborn, { state: "joined", into: root.id }],
        ]),
      );
      expect(await store.owners([a, b])).to.deep.equal(new Map([a, b].map((hash) => [hash, root.id])));
      expect(await store.save([change({ ...other, sealed: Uint8Array.of(1) })])).to.deep.equal([false]);
    });

    for (const [what, revision] of [
      ["was saved meanwhile", 7],
      ["is already stored", 0],
    ] as const) {
      it(`does not absorb an entity that ${what}`, async () => {
        const root = await keep(entity([newHash()]));
        const other = await keep(entity([newHash()]));
        const absorbs = [{ id: other.id, revision }];
        expect(await store.save([change({ ...root, joined: [other.id] }, { absorbs })])).to.deep.equal([false]);
        expect(await stateOf(other.id)).to.deep.equal({ state: "live", entity: other });
        expect(await stateOf(root.id)).to.deep.equal({ state: "live", entity: root });
      });
    }

    it("makes saves fail that were prepared before a fence", async () => {
      const live = await keep(entity([newHash()]));
      const unborn = entity([newHash()]);
      for (let times = 0; times < 2; times += 1) await store.fence([live.id, unborn.id]);
      expect(await store.save([change(live), change(unborn)])).to.deep.equal([false, false]);
      expect(await stateOf(unborn.id)).to.deep.equal({ state: "dead" });
      const now = await stateOf(live.id);
      if (now?.state !== "live") throw new Error("a fenced entity must stay live");
      expect(now.entity.sealed).to.deep.equal(live.sealed);
      expect(await store.save([change(now.entity)])).to.deep.equal([true]);
    });

    it("fences the entity that a joined id ended in", async () => {
      const root = await keep(entity([newHash()]));
      const other = await keep(entity([newHash()]));
      const united = { ...root, joined: [other.id] };
      await store.save([change(united, { absorbs: [{ id: other.id, revision: other.revision }] })]);
      await store.fence([other.id]);
      expect(await store.save([change({ ...united, revision: root.revision + 1 })])).to.deep.equal([false]);
      expect(await stateOf(other.id)).to.deep.equal({ state: "joined", into: root.id });
    });

    it("erases entities and what leads to them, for ever", async () => {
      const [a, b] = [newHash(), newHash()];
      const gone = await keep(entity([a]));
      const stays = await keep(entity([b]));
      const never = newId();
      expect(await store.holds([gone.id])).to.equal(true);
      for (let times = 0; times < 2; times += 1) await store.erase([gone.id, never]);
      expect(await store.holds([gone.id, never])).to.equal(false);
      expect(await store.owners([a, b])).to.deep.equal(new Map([[b, stays.id]]));
      expect(await stateOf(gone.id)).to.deep.equal({ state: "dead" });
      expect(await store.save([change(gone), change({ ...gone, id: never, revision: 0 })])).to.deep.equal([
        false,
        false,
      ]);
      expect(await store.holds([stays.id, gone.id])).to.equal(true);
    });

    it("erases no identity that another entity has taken over", async () => {
      const hash = newHash();
      const doomed = await keep(entity([hash]));
      const fresh = entity([hash]);
      await store.save([change(fresh, { releasedBy: [doomed.id] })]);
      await store.erase([doomed.id]);
      expect(await store.owners([hash])).to.deep.equal(new Map([[hash, fresh.id]]));
    });
  });
}
