import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { type Hook, type OutboxRow, SEGMENT } from "../../src/entities/outbox.js";
import type { ProfileChange } from "../../src/entities/ports.js";
import type { StoredEntity } from "../../src/entities/profile/entity.js";
import { MembershipDraft } from "../../src/entities/profile/memberships.js";
import type { EntityStores } from "../../src/stores/stores.js";
import { changeOf, commitOf, freshEntity, newEntityId, newHash } from "../support/commits.js";
import { someDeletion } from "./ledger.contract.js";

export type OutboxStores = Pick<EntityStores, "entities" | "outbox" | "catalogue" | "ledger">;

const at = (hook: string) => ({ url: "http://127.0.0.1/", token: "t", name: hook });

/** The hooks of the stores that the contract is about. */
export const contractHooks = [
  { ...at("crm"), segments: ["*"] },
  { ...at("ads"), segments: ["vip"] },
];

/** Promises of every engine on changes for hooks. `open` resolves with empty stores for `contractHooks`. */
export function outboxContract(name: string, open: () => Promise<{ stores: OutboxStores; close(): Promise<void> }>) {
  describe(`the outbox of ${name}`, () => {
    let stores: OutboxStores;
    let close: () => Promise<void>;
    let generation = 0;

    before(async () => {
      ({ stores, close } = await open());
    });
    after(() => close());
    beforeEach(async () => {
      await stores.outbox.keepOnly([]);
    });

    const commit = async (...profiles: ProfileChange[]) => {
      expect(await stores.entities.commit(commitOf(profiles, { generation, at: 1_000 }))).to.equal(true);
    };
    const reset = async (segment: string, at: number) => {
      generation = await stores.outbox.reset("crm", [segment], at);
    };
    const current = async ({ id }: StoredEntity) => (await stores.entities.load([id])).profiles.get(id) as StoredEntity;
    let time = 0;
    const said = (add: readonly string[], remove: readonly string[] = []) => {
      time += 1;
      return [{ add, remove, version: { time, arrival: time, position: 0 } }];
    };
    /** Stores updates of a person, and resolves with the person. */
    const say = async (person: StoredEntity, add: readonly string[], remove: readonly string[] = []) => {
      await commit(changeOf(person, said(add, remove)));
      return current(person);
    };
    const fresh = () => freshEntity([newHash()]);
    const shown = (rows: readonly OutboxRow[]) =>
      rows.map(({ hook, segment, change, state }) => `${hook} ${change} ${segment} ${state}`).sort();
    const of = async ({ id }: StoredEntity) => shown(await stores.outbox.of([id]));
    const page = (hook = "crm") => stores.outbox.page(hook, undefined, 100);
    const idsOf = (rows: readonly OutboxRow[]) => rows.map(({ id }) => id);
    const claimAll = async () => {
      const ids = idsOf([...(await page()), ...(await page("ads"))]);
      expect(await stores.outbox.claim(ids)).to.deep.equal(new Set(ids));
      return ids;
    };

    it("has a change for each hook that its segment concerns, and none of an update that changes nothing", async () => {
      const ann = await say(fresh(), ["vip", "other"]);
      const expected = ["ads joined vip waiting", "crm joined other waiting", "crm joined vip waiting"];
      expect(await of(ann)).to.deep.equal(expected);
      await say(ann, ["vip"], ["none"]);
      expect(await of(ann)).to.deep.equal(expected);
    });

    it("cancels a change and its opposite while both wait", async () => {
      const ann = await say(fresh(), ["vip"]);
      const out = await say(ann, [], ["vip"]);
      expect(await of(out)).to.deep.equal([]);
      await say(await say(out, ["vip"]), [], ["vip"]);
      expect(await of(out)).to.deep.equal([]);
    });

    it("keeps both changes when a request with the first has begun, and tells the first before the second", async () => {
      const ann = await say(fresh(), ["other"]);
      const ids = await claimAll();
      const out = await say(ann, [], ["other"]);
      expect(await of(out)).to.deep.equal(["crm joined other sending", "crm left other waiting"]);
      await stores.outbox.release(ids);
      expect((await page()).map(({ change, state }) => `${change} ${state}`)).to.deep.equal([
        "joined failed",
        "left waiting",
      ]);
      const back = await say(out, ["other"]);
      expect(await of(back)).to.deep.equal(["crm joined other failed"]);
    });

    it("pages a reset after the changes of a request that failed", async () => {
      await say(fresh(), ["other"]);
      const ids = await claimAll();
      await reset("other", 2_000);
      await stores.outbox.release(ids);
      expect(shown(await page())).to.deep.equal(["crm joined other failed", "crm reset other waiting"]);
      expect((await page()).at(-1)?.change).to.equal("reset");
    });

    it("cancels no change from before the deletion of its segment", async () => {
      await stores.catalogue.putSegment({ id: "back", name: "back", table: "user" });
      const ann = await say(fresh(), ["back"]);
      await stores.outbox.remove(await claimAll());
      const out = await say(ann, [], ["back"]);
      await stores.catalogue.deleteSegment("back", 1_000);
      const { deletions } = await stores.entities.find([], 0, ["back"]);
      generation = deletions.newest;
      await commit(changeOf(await current(out), said(["back"]), [], deletions));
      expect(await of(out)).to.deep.equal(["crm joined back waiting"]);
      expect((await page()).map(({ change }) => change)).to.deep.equal(["deleted", "joined"]);
    });

    it("pages the changes of a hook in order, without those in a request", async () => {
      for (let n = 0; n < 5; n += 1) await say(fresh(), ["other"]);
      const all = await page();
      const [first, second, third] = all as [OutboxRow, OutboxRow, OutboxRow];
      expect(idsOf(await stores.outbox.page("crm", undefined, 2))).to.deep.equal([first.id, second.id]);
      expect(idsOf(await stores.outbox.page("crm", second, 1))).to.deep.equal([third.id]);
      expect(await stores.outbox.claim([first.id, third.id])).to.deep.equal(new Set([first.id, third.id]));
      expect(await stores.outbox.claim([first.id, second.id])).to.deep.equal(new Set([second.id]));
      expect(idsOf(await page())).to.deep.equal(idsOf(all.slice(3)));
      await stores.outbox.release();
      expect(idsOf(await page())).to.deep.equal(idsOf(all));
      await stores.outbox.remove([first.id, second.id]);
      expect(await stores.outbox.count("crm")).to.deep.equal({ waiting: 3, oldest: third.at });
      expect(await stores.outbox.count("ads")).to.deep.equal({ waiting: 0, oldest: undefined });
    });

    const merge = async (stays: StoredEntity, goes: StoredEntity, add: readonly string[] = []) => {
      const draft = new MembershipDraft(stays.memberships);
      for (const { version } of said(add)) {
        draft.merge(new MembershipDraft(goes.memberships));
        draft.apply({ add, remove: [], full: false }, version, { newest: generation, bySegment: new Map() });
      }
      const change = changeOf(
        { ...stays, hashes: [...stays.hashes, ...goes.hashes], mergedIds: [goes.id] },
        [],
        [goes],
      );
      await commit({
        ...change,
        entity: { ...change.entity, memberships: draft.memberships() },
        ...{ changedSegments: draft.changed, turns: draft.turns() },
      });
      return current(stays);
    };

    it("tells the state of the profile that stays for each segment that a merged one was in or has a change of", async () => {
      const [ann, ben] = [await say(fresh(), ["a"]), await say(fresh(), ["b", "c"])];
      await stores.outbox.remove(await claimAll());
      const out = await say(ben, [], ["c"]);
      const merged = await merge(ann, out);
      expect(await of(merged)).to.deep.equal(["crm joined b waiting", "crm left c waiting"]);
      expect(await of(ben)).to.deep.equal([]);
      // The receiver may know both: neither change cancels another.
      const left = await say(merged, ["c"], ["b"]);
      expect(await of(left)).to.deep.equal(["crm joined c waiting", "crm left b waiting"]);
    });

    it("keeps a change of a merged profile that is in a request until it ends", async () => {
      const [ann, ben] = [await say(fresh(), []), await say(fresh(), ["b"])];
      const ids = await claimAll();
      const merged = await merge(ann, ben);
      expect(await of(ben)).to.deep.equal(["crm joined b sending"]);
      expect(await of(merged)).to.deep.equal(["crm joined b waiting"]);
      await stores.outbox.remove(ids);
      expect(await of(ben)).to.deep.equal([]);
    });

    it("has one change about a deleted segment for each hook that it concerns", async () => {
      for (const id of ["vip", "gone"]) {
        await stores.catalogue.putSegment({ id, name: id, table: "user" });
        expect(await stores.catalogue.deleteSegment(id, 2_000)).to.equal("deleted");
      }
      generation = (await stores.entities.find([], 0, [])).deletions.newest;
      const rows = await page();
      expect(shown(rows)).to.deep.equal(["crm deleted gone waiting", "crm deleted vip waiting"]);
      expect(rows.find(({ segment }) => segment === "gone")).to.deep.include({ at: 2_000, entity: "", generation });
      expect(shown(await page("ads"))).to.deep.equal(["ads deleted vip waiting"]);
      expect(shown(await stores.outbox.of([SEGMENT]))).to.deep.equal(shown([...rows, ...(await page("ads"))]));
    });

    it("adds a joined of members of which no change waits", async () => {
      const [ann, cid, ben] = [await say(fresh(), ["other"]), await say(fresh(), ["other"]), newEntityId()];
      await stores.outbox.claim(idsOf(await stores.outbox.of([cid.id])));
      const joined = { hook: "crm", segment: "other", at: 3_000, cancels: false };
      for (const _ of ["once", "twice"]) await stores.outbox.addMembers(joined, [ann.id, ben, cid.id]);
      const rows = await stores.outbox.of([ann.id, ben]);
      expect(shown(rows)).to.deep.equal(["crm joined other waiting", "crm joined other waiting"]);
      expect(rows.find(({ entity }) => entity === ben)).to.deep.include({ at: 3_000, cancels: false });
      expect(await of(cid)).to.deep.equal(["crm joined other sending", "crm joined other waiting"]);
    });

    it("has one reset of a segment after the changes before it, in a generation of its own", async () => {
      await say(fresh(), ["a"]);
      await reset("a", 500);
      const rows = await page();
      expect(shown(rows)).to.deep.equal(["crm joined a waiting", "crm reset a waiting"]);
      expect(rows.at(-1)).to.deep.include({ at: 500, entity: SEGMENT, generation });
      await say(fresh(), ["a"]);
      expect((await page()).map(({ change }) => change)).to.deep.equal(["joined", "reset", "joined"]);
    });

    it("keeps only the changes that concern these hooks", async () => {
      const ann = await say(fresh(), ["vip", "other"]);
      await stores.outbox.keepOnly([{ ...at("crm"), segments: ["other", "new"] }, contractHooks[1] as Hook]);
      expect(await of(ann)).to.deep.equal(["ads joined vip waiting", "crm joined other waiting"]);
      await stores.outbox.keepOnly([contractHooks[0] as Hook]);
      expect(await of(ann)).to.deep.equal(["crm joined other waiting"]);
    });

    it("erases the changes of people that are not in a request", async () => {
      const [ann, ben] = [await say(fresh(), ["other"]), await say(fresh(), ["other"])];
      expect(await stores.outbox.holds([ann.id])).to.equal(true);
      for (const _ of ["once", "twice"]) await stores.outbox.erase([ann.id]);
      expect(await stores.outbox.holds([ann.id])).to.equal(false);
      expect(await of(ben)).to.deep.equal(["crm joined other waiting"]);
      await claimAll();
      await stores.outbox.erase([ben.id]);
      expect(await of(ben)).to.deep.equal(["crm joined other sending"]);
      expect(await stores.outbox.holds([ben.id])).to.equal(false);
    });

    const accept = async (profile: StoredEntity) => {
      const { id, hashes } = profile;
      const deletion = someDeletion(newHash().slice(0, 20), { entities: [id], hashes });
      let changes: readonly OutboxRow[] = [];
      const encrypt = (rows: readonly OutboxRow[]) => {
        changes = rows;
        return { key: randomBytes(32), bytes: randomBytes(8) };
      };
      const scope = { profiles: [profile], owners: new Map(), encrypt };
      expect(await stores.ledger.accept(deletion, scope)).to.equal(true);
      return shown(changes);
    };

    it("loses the changes of a person with the acceptance of a deletion, so that none is claimed later", async () => {
      const ann = await say(fresh(), ["other"]);
      const ids = idsOf(await page());
      expect(await accept(ann)).to.deep.equal(["crm joined other waiting"]);
      expect(await stores.outbox.claim(ids)).to.deep.equal(new Set());
      expect(await of(ann)).to.deep.equal([]);
    });

    it("keeps a change in a request, with which a deletion is accepted", async () => {
      const ann = await say(fresh(), ["other"]);
      await claimAll();
      expect(await accept(ann)).to.deep.equal(["crm joined other sending"]);
      expect(await of(ann)).to.deep.equal(["crm joined other sending"]);
    });
  });
}
