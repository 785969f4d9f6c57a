import { expect } from "chai";
import type { Deletion } from "../../src/deletions/deletion.js";
import type { ScopeSnapshot } from "../../src/deletions/ports.js";
import { type Commit, type DueProfile, PAGE_BYTES, type ProfileChange } from "../../src/entities/ports.js";
import { type StoredEntity, UPDATE_BYTES } from "../../src/entities/profile/entity.js";
import type { EntityStores } from "../../src/stores/stores.js";
import {
  changeOf,
  commitOf,
  exactTime,
  freshEntity,
  keep,
  messageFor,
  newEntityId,
  newHash,
} from "../support/commits.js";

export type CommittingStores = Pick<
  EntityStores,
  | "entities"
  | "history"
  | "memberships"
  | "ledger"
  | "suppression"
  | "idempotency"
  | "entityKeys"
  | "counts"
  | "catalogue"
>;

/** Promises of every engine on live profiles and on commits. `open` resolves with empty stores. */
export function entityStoreContract(
  name: string,
  open: () => Promise<{ stores: CommittingStores; close(): Promise<void> }>,
) {
  describe(`the entity store of ${name}`, () => {
    let stores: CommittingStores;
    let close: () => Promise<void>;

    before(async () => {
      ({ stores, close } = await open());
    });
    after(() => close());

    const stored = async (id: string) => (await stores.entities.load([id])).profiles.get(id);
    const newestDeletion = async () => (await stores.entities.find([], 0, [])).deletions.newest;
    const commit = async (profiles: readonly ProfileChange[], more: Partial<Commit> = {}) =>
      stores.entities.commit(commitOf(profiles, { generation: await newestDeletion(), ...more }));
    const cutOffsOf = (hash: string) => stores.suppression.cutOffs([hash]);

    let requests = 0;
    async function accept(
      {
        hashes,
        entities = [],
        acceptedAt = 1_000,
      }: { hashes: readonly string[]; entities?: StoredEntity[]; acceptedAt?: number },
      owners: ScopeSnapshot["owners"] = new Map(),
    ): Promise<boolean> {
      requests += 1;
      const deletion: Deletion = {
        requestId: `${requests.toString(16).padStart(20, "0")}-1`,
        table: "user",
        acceptedAt,
        entities: entities.flatMap(({ id, mergedIds }) => [id, ...mergedIds]),
        hashes,
        encryptedIdentities: undefined,
        targets: [],
        done: [],
        times: {},
        attempts: 0,
        problem: undefined,
        notBefore: 0,
        completedAt: undefined,
        notify: false,
      };
      return stores.ledger.accept(deletion, { profiles: entities, owners });
    }

    it("loads profiles in the order of their ids up to a limit of bytes, at least one, and returns the ids of the others", async () => {
      const hashes = [newHash(), newHash(), newHash()];
      const add = Array.from({ length: 10 }, (_, at) => `in a large profile ${at}`);
      const ids: string[] = [];
      for (const hash of hashes) {
        const large = freshEntity([hash], { sealed: new Uint8Array(5_000) });
        ids.push((await keep(stores.entities, large, { said: [{ add }] })).id);
      }
      ids.sort();
      const own = 5_000 + 10 * UPDATE_BYTES;
      for (const [maxBytes, fit] of [
        [3 * own, 3],
        [3 * own - 1, 2],
        [2 * own - 1, 1],
        [0, 1],
      ] as const) {
        const found = await stores.entities.find(hashes, maxBytes);
        expect([...found.owners.keys()]).to.have.members(hashes);
        for (const { profiles, left } of [found, await stores.entities.load(ids, maxBytes)]) {
          expect([...profiles.keys()]).to.deep.equal(ids.slice(0, profiles.size));
          expect(profiles.size).to.be.within(1, fit);
          if (fit === 3) expect(profiles.size).to.equal(3);
          expect([...left].sort()).to.deep.equal(ids.slice(profiles.size));
        }
      }
      const large = PAGE_BYTES / 2 + 1;
      const two = [
        freshEntity([], { sealed: new Uint8Array(large) }),
        freshEntity([], { sealed: new Uint8Array(large) }),
      ];
      for (const one of two) await keep(stores.entities, one);
      expect((await stores.entities.load(two.map(({ id }) => id))).profiles.size).to.equal(1);
    });

    it("lists the ids of all stored profiles in pages, in their order, also while their deletion is accepted", async () => {
      const own = [freshEntity([newHash()]), freshEntity(), freshEntity()];
      for (const one of own) await keep(stores.entities, one);
      const [covered, , erased] = (await Promise.all(own.map(({ id }) => stored(id)))) as StoredEntity[];
      await accept({ hashes: [newHash()], entities: [covered as StoredEntity] });
      await stores.entities.erase([erased?.id ?? ""]);
      const all = await stores.entities.idsAfter(undefined, 1_000);
      expect(all).to.deep.equal([...new Set(all)].sort());
      expect(all)
        .to.include.members(own.slice(0, 2).map(({ id }) => id))
        .and.not.include(erased?.id);
      const paged: string[] = [];
      for (let page = await stores.entities.idsAfter(undefined, 2); page.length > 0; ) {
        expect(page.length).to.be.at.most(2);
        paged.push(...page);
        page = await stores.entities.idsAfter(page.at(-1), 2);
      }
      expect(paged).to.deep.equal(all);
    });

    it("loads a committed profile with a higher revision", async () => {
      const hashes = [newHash(), newHash()];
      const kept = await keep(stores.entities, freshEntity(hashes));
      expect(await stored(kept.id)).to.deep.equal(kept);
      const found = await stores.entities.find([...hashes, newHash()]);
      expect(found.owners).to.deep.equal(new Map(hashes.map((hash) => [hash, kept.id])));
      expect(found.profiles).to.deep.equal(new Map([[kept.id, kept]]));
      expect(await stores.entities.load([newEntityId()])).to.deep.equal({ profiles: new Map(), left: [] });
      const again = await keep(stores.entities, { ...kept, sealed: Uint8Array.of(9) });
      expect(await stored(kept.id)).to.deep.equal(again);
      expect(again.revision).to.be.greaterThan(kept.revision);
    });

    it("stores messages, counts, keys, memberships and segments in one commit with their profiles", async () => {
      const entity = freshEntity([newHash()]);
      const segment = `segment ${newEntityId()}`;
      const stream = `stream-${newEntityId()}`;
      const message = messageFor(entity.id, { stream });
      const version = { time: exactTime, arrival: exactTime, position: 0 };
      const change = changeOf(entity, [{ add: [segment], version }]);
      const whole = commitOf([change], { messages: [message], segments: [{ id: segment, table: "user" }] });
      expect(await stores.entities.commit(whole)).to.equal(true);
      expect(await stored(entity.id)).to.deep.equal({ ...change.entity, revision: 1 });
      expect(await stores.history.storedIds([message.id, newEntityId()])).to.deep.equal(new Set([message.id]));
      expect(await stores.memberships.sizes([segment])).to.deep.equal([1]);
      expect(await stores.entityKeys.read([entity.id])).to.deep.equal(new Map([...whole.keys]));
      expect((await stores.catalogue.segmentsById([segment])).get(segment)).to.deep.equal({
        id: segment,
        name: segment,
        table: "user",
      });
      const counted = (await stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 999)).filter(
        (one) => one.stream === stream,
      );
      expect(counted.map(({ count }) => count)).to.deep.equal([1]);
    });

    it("neither counts nor lists a member whose deletion is accepted", async () => {
      const [segment, other] = [`segment ${newEntityId()}`, `segment ${newEntityId()}`];
      const hash = newHash();
      const said = [{ add: [segment, other], full: true }];
      const gone = await keep(stores.entities, freshEntity([hash]), { said });
      const stays = await keep(stores.entities, freshEntity([newHash()]), { said });
      expect(await stores.memberships.sizes([segment, other])).to.deep.equal([2, 2]);
      expect(await accept({ hashes: [hash], entities: [gone] })).to.equal(true);
      expect(await stores.memberships.sizes([segment, other])).to.deep.equal([1, 1]);
      expect(await stores.memberships.overlap(segment, other)).to.equal(1);
      expect(await stores.memberships.members(segment, undefined, 9)).to.deep.equal([stays.id]);
      await stores.memberships.erase([gone.id]);
      expect(await stores.memberships.holds([gone.id])).to.equal(false);
    });

    it("does not change a segment of the catalogue that a message names", async () => {
      const segment = { id: `segment ${newEntityId()}`, name: "Its name", table: "account" };
      await stores.catalogue.putSegment(segment);
      await commit([changeOf(freshEntity(), [{ add: [segment.id] }])], {
        segments: [{ id: segment.id, table: "user" }],
      });
      expect((await stores.catalogue.segmentsById([segment.id])).get(segment.id)).to.deep.equal(segment);
    });

    it("rejects a commit that was planned with another revision of its profile", async () => {
      const first = await keep(stores.entities, freshEntity([newHash()]));
      const second = await keep(stores.entities, { ...first, sealed: Uint8Array.of(7) });
      expect(await commit([changeOf({ ...first, sealed: Uint8Array.of(8) })])).to.equal(false);
      expect(await commit([changeOf({ ...first, revision: 0 })], { keys: new Map() })).to.equal(false);
      expect(await commit([changeOf(freshEntity([], { revision: 3 }))])).to.equal(false);
      expect(await stored(first.id)).to.deep.equal(second);
    });

    it("stores nothing of a commit if one of its profiles has changed since it was planned", async () => {
      const good = freshEntity([newHash()]);
      const message = messageFor(good.id);
      const bad = freshEntity([newHash()], { revision: 4 });
      expect(await commit([changeOf(good), changeOf(bad)], { messages: [message] })).to.equal(false);
      expect(await stored(good.id)).to.equal(undefined);
      expect(await stores.entities.holds([good.id])).to.equal(false);
      expect(await stores.history.storedIds([message.id])).to.deep.equal(new Set());
      expect(await stores.entityKeys.read([good.id])).to.deep.equal(new Map());
    });

    it("stores nothing of a commit if one of its messages is stored already", async () => {
      const entity = await keep(stores.entities, freshEntity([newHash()]));
      const message = messageFor(entity.id);
      expect(await commit([changeOf(entity)], { messages: [message] })).to.equal(true);
      const next = { ...entity, revision: (await stored(entity.id))?.revision ?? 0 };
      expect(await commit([changeOf(next)], { messages: [messageFor(entity.id), message] })).to.equal(false);
      expect((await stored(entity.id))?.revision).to.equal(next.revision);
    });

    it("rejects a commit of an identity that belongs to another profile since it was planned", async () => {
      const [mine, taken] = [newHash(), newHash()];
      const owner = await keep(stores.entities, freshEntity([taken]));
      const second = freshEntity([mine, taken]);
      expect(await commit([changeOf(second)])).to.equal(false);
      expect((await stores.entities.find([mine, taken])).owners).to.deep.equal(new Map([[taken, owner.id]]));
    });

    it("moves an identity to a new profile only if the commit was planned with its current owner", async () => {
      const hash = newHash();
      const doomed = await keep(stores.entities, freshEntity([hash]));
      expect(await accept({ hashes: [hash], entities: [doomed], acceptedAt: 5 })).to.equal(true);
      const next = freshEntity([hash]);
      const cutOffs = await cutOffsOf(hash);
      expect(await commit([changeOf(next)], { owners: new Map([[hash, newEntityId()]]), cutOffs })).to.equal(false);
      expect(await commit([changeOf(next)], { owners: new Map([[hash, doomed.id]]), cutOffs })).to.equal(true);
      expect((await stores.entities.find([hash])).owners).to.deep.equal(new Map([[hash, next.id]]));
      await stores.entities.erase([doomed.id]);
      expect((await stores.entities.find([hash])).owners).to.deep.equal(new Map([[hash, next.id]]));
    });

    it("moves no identity if another identity of the commit belongs to a profile since it was planned", async () => {
      const [held, taken] = [newHash(), newHash()];
      const doomed = await keep(stores.entities, freshEntity([held]));
      const owner = await keep(stores.entities, freshEntity([taken]));
      expect(await accept({ hashes: [held], entities: [doomed], acceptedAt: 5 })).to.equal(true);
      const owners = new Map([
        [held, doomed.id],
        [taken, undefined],
      ]);
      const next = changeOf(freshEntity([held, taken]));
      expect(await commit([next], { owners, cutOffs: await cutOffsOf(held) })).to.equal(false);
      expect((await stores.entities.find([taken])).owners.get(taken)).to.equal(owner.id);
    });

    it("removes a profile that is merged into another one, to which its identities then lead", async () => {
      const [a, b, other] = [newHash(), newHash(), newHash()];
      const root = await keep(stores.entities, freshEntity([a]), { said: [{ add: ["merged here"] }] });
      const gone = await keep(stores.entities, freshEntity([b, other]), { said: [{ add: ["merged there"] }] });
      const united = changeOf(
        { ...root, mergedIds: [gone.id], hashes: [...root.hashes, ...gone.hashes].sort() },
        [{ add: ["merged there"] }],
        [{ id: gone.id, revision: gone.revision }],
      );
      const owners = new Map([
        [a, root.id],
        [b, gone.id],
      ]);
      expect(await commit([united], { owners })).to.equal(true);
      const loaded = (await stores.entities.load([root.id, gone.id])).profiles;
      const revision = loaded.get(root.id)?.revision ?? 0;
      expect(loaded).to.deep.equal(new Map([[root.id, { ...united.entity, revision }]]));
      expect(revision).to.be.greaterThan(root.revision);
      expect((await stores.entities.find([a, b, other])).owners).to.deep.equal(
        new Map([a, b, other].map((hash) => [hash, root.id])),
      );
      expect(await stores.memberships.sizes(["merged here", "merged there"])).to.deep.equal([1, 1]);
      expect(await commit([changeOf(gone)])).to.equal(false);
    });

    it("lists and counts the profiles of one table", async () => {
      const table = `table ${newEntityId()}`;
      const own = [freshEntity([], { table }), freshEntity([], { table }), freshEntity([], { table })];
      for (const one of [...own, freshEntity()]) await keep(stores.entities, one);
      const ids = own.map(({ id }) => id).sort();
      expect(await stores.entities.idsAfter(undefined, 10, table)).to.deep.equal(ids);
      expect(await stores.entities.idsAfter(ids[0], 1, table)).to.deep.equal(ids.slice(1, 2));
      expect(await stores.entities.count(table)).to.equal(3);
      expect(await stores.entities.count(`no ${table}`)).to.equal(0);
    });

    it("lists due profiles, the longest due first, as each was stored last", async () => {
      const dues = [5, 3, 5, 7, undefined];
      const own = dues.map((due) => freshEntity([], { due: due === undefined ? due : due - 1_000 }));
      for (const one of own) await keep(stores.entities, one);
      const id = (at: number) => own[at]?.id as string;
      const due = async (now: number, after?: DueProfile, limit = 9) =>
        (await stores.entities.dueAfter(now - 1_000, after, limit)).map(({ id: one }) => one);
      const equal = [id(0), id(2)].sort();
      expect(await due(6)).to.deep.equal([id(1), ...equal]);
      expect(await due(6, undefined, 1)).to.deep.equal([id(1)]);
      expect(await due(6, { id: equal[0] as string, due: 5 - 1_000 })).to.deep.equal(equal.slice(1));
      const first = (await stored(id(1))) as StoredEntity;
      expect(first.due).to.equal(3 - 1_000);
      await commit([changeOf({ ...first, due: undefined })]);
      expect((await stored(id(1)))?.due).to.equal(undefined);
      const second = (await stored(id(0))) as StoredEntity;
      await commit([changeOf({ ...second, due: 7 - 1_000 })]);
      expect(await due(7)).to.have.members([id(2), id(0), id(3)]);
    });

    it("rejects a commit that was planned before a rule changed", async () => {
      const entity = await keep(stores.entities, freshEntity([newHash()]));
      const generation = await newestDeletion();
      const rule = { id: `ruled ${newEntityId()}`, name: "a rule", table: "user", rule: { all: [] }, names: [] };
      expect(await stores.catalogue.putRule(rule, generation, 1)).to.equal("stored");
      expect(await commit([changeOf(entity)], { generation })).to.equal(false);
      expect(await commit([changeOf(entity)])).to.equal(true);
    });

    it("rejects a merge that was planned before a segment was deleted", async () => {
      const segment = `removed ${newEntityId()}`;
      const root = await keep(stores.entities, freshEntity([newHash()]));
      const other = await keep(stores.entities, freshEntity([newHash()]), { said: [{ add: [segment] }] });
      await stores.catalogue.putSegment({ id: segment, name: segment, table: "user" });
      const generation = await newestDeletion();
      await stores.catalogue.deleteSegment(segment, 2);
      const mergedFrom = [{ id: other.id, revision: other.revision }];
      const merge = changeOf({ ...root, mergedIds: [other.id] }, [{ add: [segment] }], mergedFrom);
      expect(await commit([merge], { generation })).to.equal(false);
      expect(await stores.memberships.sizes([segment])).to.deep.equal([0]);
      expect((await stored(root.id))?.memberships.updates.has(segment)).to.equal(false);
    });

    it("rejects a merge of a profile that has changed since it was planned", async () => {
      const root = await keep(stores.entities, freshEntity([newHash()]));
      const other = await keep(stores.entities, freshEntity([newHash()]));
      const mergedFrom = [{ id: other.id, revision: other.revision + 6 }];
      expect(await commit([changeOf({ ...root, mergedIds: [other.id] }, [], mergedFrom)])).to.equal(false);
      expect(await stored(other.id)).to.deep.equal(other);
      expect(await stored(root.id)).to.deep.equal(root);
    });

    it("accepts one of several concurrent commits of the same profile", async () => {
      const entity = await keep(stores.entities, freshEntity([newHash()]));
      const done = await Promise.all(
        Array.from({ length: 8 }, (_, n) => commit([changeOf({ ...entity, sealed: Uint8Array.of(n) })])),
      );
      expect(done.filter((one) => one)).to.have.length(1);
      expect((await stored(entity.id))?.sealed).to.deep.equal(Uint8Array.of(done.indexOf(true)));
    });

    it("accepts one of several concurrent commits that add the same identity", async () => {
      const hash = newHash();
      const fresh = Array.from({ length: 8 }, () => freshEntity([hash]));
      const done = await Promise.all(fresh.map((entity) => commit([changeOf(entity)])));
      expect(done.filter((one) => one)).to.have.length(1);
      const [owner] = (await stores.entities.find([hash])).owners.values();
      expect(owner).to.equal(fresh[done.indexOf(true)]?.id);
      expect((await stores.entities.load(fresh.map(({ id }) => id))).profiles.size).to.equal(1);
    });

    describe("with deletions", () => {
      it("does not load a profile whose deletion is accepted", async () => {
        const entity = await keep(stores.entities, freshEntity([newHash()]));
        expect(await accept({ hashes: entity.hashes, entities: [entity] })).to.equal(true);
        expect(await stored(entity.id)).to.equal(undefined);
        expect(await stores.entities.holds([entity.id])).to.equal(true);
      });

      it("rejects a commit that was planned before the deletion of its profile was accepted", async () => {
        const entity = await keep(stores.entities, freshEntity([newHash()]));
        await accept({ hashes: entity.hashes, entities: [entity] });
        expect(await commit([changeOf(entity)])).to.equal(false);
        const root = await keep(stores.entities, freshEntity([newHash()]));
        const mergedFrom = [{ id: entity.id, revision: entity.revision }];
        expect(await commit([changeOf({ ...root, mergedIds: [entity.id] }, [], mergedFrom)])).to.equal(false);
      });

      it("rejects a commit of an identity whose deletion was accepted since it was planned", async () => {
        const hash = newHash();
        expect(await accept({ hashes: [hash] }, new Map([[hash, undefined]]))).to.equal(true);
        expect(await commit([changeOf(freshEntity([hash]))])).to.equal(false);
        const [holder] = (await stores.entities.find([hash])).owners.values();
        const planned = { owners: new Map([[hash, holder]]), cutOffs: await cutOffsOf(hash) };
        expect(await commit([changeOf(freshEntity([hash]))], planned)).to.equal(true);
      });

      it("rejects a commit of an identity whose deletion was accepted and completed since it was planned", async () => {
        const hash = newHash();
        await accept({ hashes: [hash] }, new Map([[hash, undefined]]));
        const [holder] = (await stores.entities.find([hash])).owners.values();
        if (holder !== undefined) await stores.entities.erase([holder]);
        expect(await commit([changeOf(freshEntity([hash]))])).to.equal(false);
        expect((await stores.entities.find([hash])).owners).to.deep.equal(new Map());
      });

      it("returns positions of deletions and repeatable requests in their order, whatever their arrivals", async () => {
        const hash = newHash();
        const begin = async (arrival: number) =>
          (await stores.idempotency.begin({ id: newHash(), arrival, digest: "", tally: "" })).stored;
        const early = [await begin(9_000), await begin(1)];
        await keep(stores.entities, freshEntity([newHash()]));
        expect(await accept({ hashes: [hash], acceptedAt: 500 }, new Map([[hash, undefined]]))).to.equal(true);
        const late = [await begin(9_001), await begin(2)];
        const position = (await cutOffsOf(hash)).get(hash)?.position ?? "";
        for (const { began } of early) expect(began < position, `${began} < ${position}`).to.equal(true);
        for (const { began } of late) expect(began >= position, `${began} >= ${position}`).to.equal(true);
      });

      it("does not change a profile for a deletion that is stored already", async () => {
        const [hash, segment] = [newHash(), `stored ${newEntityId()}`];
        await accept({ hashes: [hash] }, new Map([[hash, undefined]]));
        const entity = await keep(stores.entities, freshEntity([newHash()]), { said: [{ add: [segment] }] });
        requests -= 1;
        expect(await accept({ hashes: [hash], entities: [entity] })).to.equal(true);
        expect(await stored(entity.id)).to.not.equal(undefined);
        expect(await stores.memberships.sizes([segment])).to.deep.equal([1]);
      });

      it("rejects a deletion of a profile that has changed since it was found", async () => {
        const entity = await keep(stores.entities, freshEntity([newHash()]));
        const now = await keep(stores.entities, entity);
        const hashes = entity.hashes;
        expect(await accept({ hashes, entities: [entity] })).to.equal(false);
        expect(await accept({ hashes, entities: [now] })).to.equal(true);
        expect(await accept({ hashes, entities: [{ ...now, revision: now.revision + 1 }] })).to.equal(false);
      });

      it("rejects a deletion of an identity that belongs to a profile since none was found", async () => {
        const hash = newHash();
        await keep(stores.entities, freshEntity([hash]));
        expect(await accept({ hashes: [hash] }, new Map([[hash, undefined]]))).to.equal(false);
      });

      for (const isStored of [true, false]) {
        it(`accepts one of a concurrent commit and deletion of an identity ${isStored ? "with" : "without"} a profile`, async () => {
          for (let times = 0; times < 10; times += 1) {
            const hash = newHash();
            const fresh = freshEntity([hash]);
            const entity = isStored ? await keep(stores.entities, fresh) : fresh;
            const outcomes = await Promise.all([
              commit([changeOf(entity)]),
              isStored
                ? accept({ hashes: [hash], entities: [entity] })
                : accept({ hashes: [hash] }, new Map([[hash, undefined]])),
            ]);
            expect(outcomes.filter((one) => one)).to.have.length(1);
          }
        });
      }
    });

    it("erases profiles and their identities", async () => {
      const [a, b] = [newHash(), newHash()];
      const gone = await keep(stores.entities, freshEntity([a]), { said: [{ add: ["erased"], full: true }] });
      const stays = await keep(stores.entities, freshEntity([b]));
      const never = newEntityId();
      expect(await stores.entities.holds([gone.id])).to.equal(true);
      for (let times = 0; times < 2; times += 1) await stores.entities.erase([gone.id, never]);
      expect(await stores.entities.holds([gone.id, never])).to.equal(false);
      expect((await stores.entities.find([a, b])).owners).to.deep.equal(new Map([[b, stays.id]]));
      expect(await stores.memberships.sizes(["erased"])).to.deep.equal([0]);
      expect(await stores.memberships.holds([gone.id])).to.equal(false);
      expect(await commit([changeOf(gone)])).to.equal(false);
      expect(await stores.entities.holds([stays.id, gone.id])).to.equal(true);
    });

    it("stores a profile with 10,000 segments", async () => {
      const add = Array.from({ length: 10_000 }, (_, at) => `of many ${at}`);
      const kept = await keep(stores.entities, freshEntity([newHash()]), { said: [{ add }] });
      expect((await stored(kept.id))?.memberships.updates.size).to.equal(10_000);
    });
  });
}
