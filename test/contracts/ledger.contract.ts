import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { type Deletion, MAX_WAIT_MS, NOTIFICATION } from "../../src/deletions/deletion.js";
import type { DeletionProgress, Ledger, ListedState, ScopeSnapshot } from "../../src/deletions/ports.js";
import type { EntityStore, Suppression } from "../../src/entities/ports.js";
import { freshEntity, keep, newHash } from "../support/commits.js";

export interface OpenLedger {
  readonly ledger: Ledger;
  readonly suppression: Suppression;
  readonly entities: EntityStore;
  /** Counts the stored records of erased identities. */
  countErased(): Promise<number>;
  close(): Promise<void>;
}

/** Scope of a request that names no stored profile. */
export const noScope: ScopeSnapshot = { profiles: [], owners: new Map() };

/** A request that is new, for our own targets alone. */
export function someDeletion(name: string, over: Partial<Deletion> = {}): Deletion {
  return {
    requestId: `${name}-1700000000`,
    table: "user",
    acceptedAt: 1000,
    entities: [`entity-${name}`],
    hashes: [`hash-${name}`, `other-${name}`],
    encryptedIdentities: undefined,
    targets: ["membership-index", "history-archive"],
    done: [],
    times: {},
    attempts: 0,
    problem: undefined,
    notBefore: 0,
    completedAt: undefined,
    notify: false,
    ...over,
  };
}

/** Promises of every engine on the ledger. */
export function ledgerContract(name: string, open: () => Promise<OpenLedger>): void {
  describe(`the ledger of ${name}`, () => {
    let at: OpenLedger;
    let ledger: Ledger;

    beforeEach(async () => {
      at = await open();
      ledger = at.ledger;
    });
    afterEach(() => at.close());

    /** First letters of the requests that are due. */
    const due = async (now: number, target?: string, limit = 10) =>
      (await ledger.due(now, target, limit)).map((requestId) => requestId[0]).join("");
    /** First letter of the first open request over these identities. */
    const firstOpen = async (...hashes: string[]) => (await ledger.firstOpen(hashes))?.[0];

    it("rejects a request whose deadline has passed", async () => {
      const late = AbortSignal.abort(new Error("late"));
      const refused = ledger.accept(someDeletion("a"), noScope, late).catch((error: Error) => error.message);
      expect(await refused).to.equal("late");
      expect(await ledger.count("all")).to.equal(0);
    });

    it("returns a request as it was accepted", async () => {
      const deletion = someDeletion("a", { acceptedAt: 1000.5 });
      await ledger.accept(deletion, noScope);
      expect(await ledger.find(deletion.requestId)).to.deep.equal(deletion);
      expect(await ledger.find("unknown-1")).to.equal(undefined);
    });

    it("returns the encrypted identities of a request until their key is destroyed, which may be repeated", async () => {
      const key = new Uint8Array(32).fill(7);
      const encryptedIdentities = { key, bytes: Uint8Array.of(1, 2, 3) };
      const { requestId } = someDeletion("a");
      await ledger.accept(someDeletion("a", { encryptedIdentities }), noScope);
      await ledger.accept(someDeletion("b"), noScope);
      const found = (await ledger.find(requestId))?.encryptedIdentities;
      expect([...(found?.key ?? [])]).to.deep.equal([...key]);
      expect([...(found?.bytes ?? [])]).to.deep.equal([1, 2, 3]);
      const progress = { done: ["profile", "crm", "verified"], times: { crm: { verifiedAt: 1500 } } };
      for (const id of [requestId, requestId, "b-1700000000", "unknown-1"]) await ledger.destroyKey(id, progress);
      expect(await ledger.find(requestId)).to.deep.equal(someDeletion("a", progress));
      expect(await ledger.find("b-1700000000")).to.deep.equal(someDeletion("b"));
      expect(await ledger.complete(requestId, 2000, progress.times)).to.equal(true);
      expect(await ledger.find(requestId)).to.deep.equal(
        someDeletion("a", { ...progress, completedAt: 2000, notBefore: 2000 }),
      );
    });

    it("stores a request once under its id, also if its profile is erased concurrently", async () => {
      const entity = await keep(at.entities, freshEntity([newHash()]));
      const scope = { ...noScope, profiles: [entity] };
      const deletion = someDeletion("a", { entities: [entity.id] });
      const accepted = await Promise.all([1, 2].map(() => ledger.accept(deletion, scope)));
      const other = someDeletion("b", { requestId: deletion.requestId });
      accepted.push(await ledger.accept(other, noScope));
      expect(accepted).to.deep.equal([true, true, true]);
      expect((await ledger.since(0, 10)).map(({ deletion }) => deletion)).to.deep.equal([deletion]);
      expect([await firstOpen("hash-a"), await firstOpen("hash-b")]).to.deep.equal(["a", undefined]);
    });

    it("assigns a unique number to each of several concurrent requests", async () => {
      const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
      await Promise.all(names.map((name) => ledger.accept(someDeletion(name), noScope)));
      const kept = await ledger.since(0, 100);
      expect(kept.map(({ sequence }) => sequence)).to.deep.equal(names.map((_, i) => (kept[0]?.sequence ?? 0) + i));
      expect(kept.map(({ deletion }) => deletion.requestId)).to.have.members(
        names.map((name) => someDeletion(name).requestId),
      );
    });

    it("accepts one of two concurrent requests for the same profile", async () => {
      const entity = await keep(at.entities, freshEntity([newHash()]));
      const scope = { ...noScope, profiles: [entity] };
      const accepted = await Promise.all(
        ["a", "b"].map((name) => ledger.accept(someDeletion(name, { entities: [entity.id] }), scope)),
      );
      expect(accepted.filter(Boolean)).to.have.lengthOf(1);
    });

    it("returns the first accepted of the open requests over any of some identities", async () => {
      for (const [name, hashes] of Object.entries({ a: "12", b: "5", c: "1", d: "25" }))
        await ledger.accept(someDeletion(name, { hashes: hashes.split("") }), noScope);
      const found = async () => [
        await firstOpen("1"),
        await firstOpen("2", "5"),
        await firstOpen("5"),
        await firstOpen(),
      ];
      expect(await found()).to.deep.equal(["a", "a", "b", undefined]);
      await run("a-1700000000", failed());
      expect(await firstOpen("1")).to.equal("a");
      await ledger.complete("a-1700000000", 2000, {});
      expect(await found()).to.deep.equal(["c", "b", "b", undefined]);
      await ledger.complete("b-1700000000", 2000, {});
      expect(await found()).to.deep.equal(["c", "d", "d", undefined]);
    });

    it("returns no request that has neither a profile nor encrypted identities as the first, except to itself", async () => {
      const encryptedIdentities = { key: new Uint8Array(32).fill(7), bytes: Uint8Array.of(1) };
      for (const [name, over] of Object.entries({ a: {}, b: { encryptedIdentities }, c: {} }))
        await ledger.accept(someDeletion(name, { entities: [], hashes: ["1"], ...over }), noScope);
      expect(await firstOpen("1")).to.equal("b");
      const firstFor = async (name: string) => (await ledger.firstOpen(["1"], `${name}-1700000000`))?.[0];
      expect([await firstFor("a"), await firstFor("b"), await firstFor("c")]).to.deep.equal(["a", "b", "b"]);
      await ledger.complete("b-1700000000", 2000, {});
      expect(await firstOpen("1")).to.equal(undefined);
    });

    it("returns the first of several concurrent requests over one identity, in the order of their numbers", async () => {
      const names = ["a", "b", "c", "d", "e"];
      await Promise.all(names.map((name) => ledger.accept(someDeletion(name, { hashes: ["1"] }), noScope)));
      for (const { deletion } of await ledger.since(0, 10)) {
        expect(await ledger.firstOpen(["1"])).to.equal(deletion.requestId);
        await ledger.complete(deletion.requestId, 2000, {});
      }
    });

    /** The progress that a run stores when it has failed at `now`. */
    const failed = (over: Partial<DeletionProgress> = {}): DeletionProgress => ({
      done: [],
      times: {},
      attempts: 1,
      problem: "crm answered 500",
      nextTarget: undefined,
      notBefore: 500,
      notify: false,
      ...over,
    });

    /** Leases a request and ends the lease with this progress. */
    async function run(requestId: string, progress: DeletionProgress, now = 0): Promise<void> {
      expect(await ledger.lease(requestId, "one", now, now + 10)).to.not.equal(undefined);
      await ledger.release(requestId, "one", progress);
    }

    it("returns due requests in the order of their due times and acceptance, and none that waits", async () => {
      for (const letter of ["a", "b", "c", "d", "e"]) await ledger.accept(someDeletion(letter), noScope);
      await run("a-1700000000", failed());
      await run("b-1700000000", failed({ notBefore: 400 }));
      await ledger.complete("c-1700000000", 2000, {});
      expect(await due(399)).to.equal("de");
      expect(await due(499)).to.equal("deb");
      expect(await due(500)).to.equal("deba");
      expect(await due(500, undefined, 3)).to.equal("deb");
    });

    it("finds the due requests by the remote target that their next run calls", async () => {
      for (const letter of ["a", "b", "c"]) await ledger.accept(someDeletion(letter), noScope);
      await run("a-1700000000", failed({ nextTarget: "crm", notBefore: 0 }));
      await run("b-1700000000", failed({ nextTarget: "erp", notBefore: 0 }));
      expect(await due(0, "crm")).to.equal("a");
      expect(await due(0)).to.equal("c");
      await run("a-1700000000", failed({ notBefore: 0 }));
      expect(await due(0, "crm")).to.equal("");
    });

    it("lets a request that waits for a removed remote target begin at our own stores", async () => {
      for (const letter of ["a", "b", "c"]) await ledger.accept(someDeletion(letter), noScope);
      await run("a-1700000000", failed({ nextTarget: "crm", notBefore: 0 }));
      await run("b-1700000000", failed({ nextTarget: "erp", notBefore: 100 }));
      await ledger.clearOtherTargets(["crm"]);
      expect([await due(99), await due(99, "crm"), await due(99, "erp")]).to.deep.equal(["c", "a", ""]);
      expect(await due(100)).to.equal("cb");
      await ledger.clearOtherTargets([]);
      expect(await due(0)).to.equal("ac");
    });

    it("makes waiting requests due when they are woken, by id or by the remote target, but none that is leased or completed", async () => {
      for (const letter of ["a", "b", "c", "d"]) {
        await ledger.accept(someDeletion(letter), noScope);
        const notBefore = letter === "b" ? 100 : 500;
        await run(`${letter}-1700000000`, failed({ nextTarget: letter === "d" ? "erp" : "crm", notBefore }));
      }
      await ledger.lease("b-1700000000", "one", 100, 900);
      await ledger.complete("c-1700000000", 2000, {});
      for (const woken of [1, 0]) expect(await ledger.wakeWaitingFor("crm")).to.equal(woken);
      expect([await due(499, "crm"), await due(499, "erp")]).to.deep.equal(["a", ""]);
      await ledger.wake(["b-1700000000", "c-1700000000", "d-1700000000", "unknown-1"]);
      expect([await due(499, "crm"), await due(499, "erp")]).to.deep.equal(["a", "d"]);
      await ledger.wake([]);
    });

    it("leases a due request to one runner at a time, until its lease ends or is released", async () => {
      const id = "a-1700000000";
      const leased = async (runner: string, now: number, until: number) =>
        (await ledger.lease(id, runner, now, until)) !== undefined;
      await ledger.accept(someDeletion("a"), noScope);
      expect(await ledger.lease(id, "one", 0, 100)).to.deep.equal(someDeletion("a", { notBefore: 100 }));
      expect(await leased("two", 99, 200)).to.equal(false);
      expect(await due(99)).to.equal("");
      await ledger.renew(id, "one", 150);
      expect(await leased("two", 149, 200)).to.equal(false);
      expect(await leased("two", 150, 300)).to.equal(true);
      await ledger.renew(id, "one", 900);
      await ledger.release(id, "one", failed({ notBefore: 160 }));
      expect(await leased("one", 299, 400)).to.equal(false);
      await ledger.release(id, "two", failed({ notBefore: 250 }));
      expect(await leased("one", 249, 400)).to.equal(false);
      expect(await leased("one", 250, 400)).to.equal(true);
      await ledger.complete(id, 500, {});
      expect(await leased("one", 600, 700)).to.equal(false);
      expect(await ledger.lease("unknown-1", "one", 0, 100)).to.equal(undefined);
    });

    it("returns a request as due if the end of its wait or lease is too late to be right, as the clock was set back", async () => {
      for (const letter of ["a", "b"]) await ledger.accept(someDeletion(letter), noScope);
      const now = 900 - MAX_WAIT_MS;
      await run("a-1700000000", failed({ notBefore: 900 }), 500);
      await ledger.lease("b-1700000000", "one", 500, 900);
      expect(await due(now)).to.equal("");
      expect(await ledger.lease("b-1700000000", "two", now, now + 8)).to.equal(undefined);
      expect(await due(now - 1)).to.equal("ab");
      expect(await due(now - 1, undefined, 1)).to.equal("a");
      expect(await ledger.lease("b-1700000000", "two", now - 1, now + 8)).to.not.equal(undefined);
      await ledger.release("b-1700000000", "one", failed({ notBefore: 0 }));
      expect(await due(now - 1)).to.equal("a");
    });

    it("stores the stages of a run, their times and its problem until a later run replaces them", async () => {
      const id = "a-1700000000";
      await ledger.accept(someDeletion("a"), noScope);
      const times = { "membership-index": { erasedAt: 1500.5 } };
      await run(id, failed({ done: ["profile"], times, attempts: 4, notBefore: 7 }));
      const kept = { done: ["profile"], times, attempts: 4, notBefore: 7, problem: "crm answered 500" };
      expect(await ledger.find(id)).to.deep.equal(someDeletion("a", kept));
      await run(id, failed({ times, attempts: 0, problem: undefined, notBefore: 8 }), 7);
      expect(await ledger.find(id)).to.deep.include({ times, attempts: 0, problem: undefined });
      const later = { "membership-index": { erasedAt: 1500.5, verifiedAt: 1700 } };
      await ledger.complete(id, 2000, later);
      expect(await ledger.find(id)).to.deep.include({ times: later, completedAt: 2000 });
    });

    it("completes a request in one of several concurrent calls, and never opens it again", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      await ledger.lease("a-1700000000", "one", 0, 100);
      const completions = await Promise.all([1, 2, 3].map(() => ledger.complete("a-1700000000", 6000, {})));
      expect(completions.filter(Boolean)).to.have.length(1);
      expect(await ledger.complete("a-1700000000", 7000, {})).to.equal(false);
      expect(await ledger.complete("unknown-1", 7000, {})).to.equal(false);
      const done = await ledger.find("a-1700000000");
      expect(done?.completedAt).to.equal(6000);
      await ledger.release("a-1700000000", "one", failed());
      await ledger.renew("a-1700000000", "one", 150);
      await ledger.wake(["a-1700000000"]);
      expect(await ledger.find("a-1700000000")).to.deep.equal(done);
    });

    it("numbers requests, and returns the number up to which no request is open", async () => {
      expect(await ledger.settledSequence()).to.equal(0);
      for (const letter of ["a", "b", "c"]) await ledger.accept(someDeletion(letter), noScope);
      const [first, second, third] = await ledger.since(0, 10);
      expect([first, second, third].map((item) => item?.deletion.requestId)).to.deep.equal([
        "a-1700000000",
        "b-1700000000",
        "c-1700000000",
      ]);
      expect(await ledger.settledSequence()).to.equal((first?.sequence ?? 0) - 1);
      await ledger.complete("b-1700000000", 2000, {});
      await ledger.complete("a-1700000000", 2000, {});
      expect(await ledger.settledSequence()).to.equal((third?.sequence ?? 0) - 1);
      await ledger.complete("c-1700000000", 2000, {});
      expect(await ledger.settledSequence()).to.equal(third?.sequence);
      const rest = await ledger.since(first?.sequence ?? 0, 1);
      expect(rest.map(({ sequence }) => sequence)).to.deep.equal([second?.sequence]);
    });

    it("expires requests completed before an instant with their suppression, and assigns no number twice", async () => {
      for (const letter of ["a", "b"]) await ledger.accept(someDeletion(letter), noScope);
      const last = (await ledger.since(0, 10)).at(-1)?.sequence ?? 0;
      await ledger.complete("b-1700000000", 2000, {});
      await ledger.expire(2000, true);
      expect(await ledger.find("b-1700000000")).to.not.equal(undefined);
      await ledger.expire(2001, true);
      expect(await ledger.forgottenSequence()).to.equal(last);
      expect(await ledger.find("b-1700000000")).to.equal(undefined);
      expect([...(await at.suppression.erased(["entity-a", "entity-b"]))]).to.deep.equal(["entity-a"]);
      expect([...(await at.suppression.cutOffs(["other-a", "other-b"])).keys()]).to.deep.equal(["other-a"]);
      await ledger.accept(someDeletion("c"), noScope);
      expect((await ledger.since(0, 10)).at(-1)?.sequence).to.be.greaterThan(last);
    });

    it("keeps the cut-off of an identity that an open request names when a later one expires", async () => {
      const over = { entities: [], hashes: ["shared"] };
      const [first, remote, later] = ["first", "remote", "later"].map((name) =>
        someDeletion(name, name === "remote" ? { ...over, targets: ["membership-index", "crm"] } : over),
      ) as [Deletion, Deletion, Deletion];
      for (const deletion of [first, remote]) await ledger.accept(deletion, noScope);
      await ledger.complete(first.requestId, 2000, {});
      await ledger.accept(later, noScope);
      await ledger.complete(later.requestId, 2000, {});
      await ledger.expire(2001, false);
      expect((await at.suppression.cutOffs(["shared"])).size).to.equal(1);
    });

    it("expires any number of requests while other requests run", async function () {
      this.timeout(60_000);
      const names = Array.from({ length: 1_100 }, (_, n) => `n${n}`);
      await Promise.all(names.map((name) => ledger.accept(someDeletion(name), noScope)));
      const newest = (await ledger.since(0, 2_000)).at(-1)?.sequence;
      await Promise.all(names.map((name) => ledger.complete(`${name}-1700000000`, 2000, {})));
      await ledger.accept(someDeletion("open"), noScope);
      let isDone = false;
      let turns = 0;
      const expired = ledger.expire(2001, true).then(() => (isDone = true));
      for (; !isDone; turns += 1) await setImmediate();
      await expired;
      expect(turns).to.be.at.least(2);
      expect(await ledger.list({ state: "completed", newestFirst: true, limit: 9 })).to.deep.equal([]);
      expect(await at.suppression.erased(names.map((name) => `entity-${name}`))).to.deep.equal(new Set());
      expect(await at.suppression.cutOffs(names.flatMap((name) => [`hash-${name}`, `other-${name}`]))).to.deep.equal(
        new Map(),
      );
      expect(await at.suppression.erased(["entity-open"])).to.deep.equal(new Set(["entity-open"]));
      expect(await ledger.settledSequence()).to.equal(newest);
    });

    describe("with requests whose completion is notified", () => {
      const id = (letter: string) => `${letter}-1700000000`;
      const notifying = () => due(2_000, NOTIFICATION);

      beforeEach(async () => {
        for (const letter of ["a", "b"]) await ledger.accept(someDeletion(letter, { notify: true }), noScope);
        await ledger.accept(someDeletion("c"), noScope);
      });

      it("returns a request as due for its notification from its completion until it is notified", async () => {
        expect(await ledger.find(id("a"))).to.deep.equal(someDeletion("a", { notify: true }));
        expect([await due(0), await notifying()]).to.deep.equal(["abc", ""]);
        for (const letter of ["c", "b", "a"]) await ledger.complete(id(letter), 2000, {});
        expect([await due(0), await notifying()]).to.deep.equal(["", "ab"]);
        expect([await ledger.count("completed", NOTIFICATION), await ledger.count("open")]).to.deep.equal([2, 0]);
        await run(id("a"), failed({ attempts: 0, problem: undefined, notBefore: 2000 }), 2000);
        expect([await notifying(), await ledger.count("completed", NOTIFICATION)]).to.deep.equal(["b", 1]);
        expect(await ledger.find(id("a"))).to.deep.equal(someDeletion("a", { completedAt: 2000, notBefore: 2000 }));
        expect(await ledger.lease(id("a"), "one", 2000, 2010)).to.equal(undefined);
      });

      it("counts the attempts of a notification from zero, however often the deletion has failed", async () => {
        await run(id("a"), failed({ attempts: 4, notBefore: 9_000, notify: true }));
        await ledger.complete(id("a"), 2000, {});
        const completed = someDeletion("a", { notify: true, completedAt: 2000, notBefore: 2000 });
        expect(await ledger.find(id("a"))).to.deep.equal(completed);
        expect(await ledger.lease(id("a"), "one", 2000, 2100)).to.deep.equal({ ...completed, notBefore: 2100 });
        expect(await ledger.lease(id("a"), "two", 2099, 2200)).to.equal(undefined);
        await ledger.renew(id("a"), "one", 2300);
        const problem = "webhook answered 500";
        await ledger.release(
          id("a"),
          "one",
          failed({ problem, nextTarget: NOTIFICATION, notBefore: 2600, notify: true }),
        );
        expect([await due(2599, NOTIFICATION), await due(2600, NOTIFICATION)]).to.deep.equal(["", "a"]);
        expect(await ledger.find(id("a"))).to.deep.equal({ ...completed, attempts: 1, problem, notBefore: 2600 });
        expect(await ledger.count("stuck")).to.equal(0);
        await ledger.wakeWaitingFor(NOTIFICATION);
        expect(await due(0, NOTIFICATION)).to.equal("a");
        await ledger.clearOtherTargets([NOTIFICATION]);
        expect([await due(0, NOTIFICATION), await due(0)]).to.deep.equal(["a", "bc"]);
      });

      it("returns a failed notification before the notification of a later completion", async () => {
        await ledger.complete(id("a"), 2000, {});
        await run(id("a"), failed({ nextTarget: NOTIFICATION, notBefore: 2500 }), 2000);
        await ledger.complete(id("b"), 3000, {});
        expect(await due(3000, NOTIFICATION)).to.equal("ab");
      });

      it("ignores a run that ends after the completion of its request", async () => {
        await ledger.lease(id("a"), "slow", 0, 10);
        await ledger.complete(id("a"), 2000, {});
        await ledger.renew(id("a"), "slow", 9_000);
        await ledger.release(id("a"), "slow", failed());
        expect([await notifying(), await due(1_000)]).to.deep.equal(["a", "bc"]);
      });

      it("completes a request whose notification another process leases at the same time", async () => {
        const [completed] = await Promise.all([
          ledger.complete(id("a"), 2000, {}),
          ...Array.from({ length: 5 }, (_, n) => ledger.lease(id("a"), `${n}`, 2000 + n * 10, 2009 + n * 10)),
        ]);
        expect(completed).to.equal(true);
      });

      it("expires a request only after its notification, unless there is no webhook", async () => {
        for (const letter of ["a", "b", "c"]) await ledger.complete(id(letter), 2000, {});
        await run(id("b"), failed(), 2000);
        const kept = async () =>
          (await ledger.list({ state: "all", newestFirst: false, limit: 9 }))
            .map(({ requestId }) => requestId[0])
            .join("");
        await ledger.expire(2001, true);
        expect(await kept()).to.equal("a");
        expect([...(await at.suppression.cutOffs(["other-a", "other-b"])).keys()]).to.deep.equal(["other-a"]);
        await ledger.expire(2001, false);
        expect(await kept()).to.equal("");
      });
    });

    it("lists and counts requests of a state, the newest or the oldest first, in pages", async () => {
      for (const name of ["a", "b", "c", "d"]) await ledger.accept(someDeletion(name), noScope);
      await ledger.complete("b-1700000000", 2000, {});
      await ledger.complete("c-1700000000", 2000, {});
      const names = async (state: "open" | "completed" | "all", limit = 9, after?: string, newestFirst = true) =>
        (await ledger.list({ state, newestFirst, limit, after })).map(({ requestId }) => requestId[0]).join("");
      expect(await names("open")).to.equal("da");
      expect(await names("completed")).to.equal("cb");
      expect(await names("all")).to.equal("dcba");
      expect(await names("all", 2)).to.equal("dc");
      expect(await names("all", 2, "c-1700000000")).to.equal("ba");
      expect(await names("open", 9, "c-1700000000")).to.equal("a");
      expect(await names("all", 9, "a-1700000000")).to.equal("");
      expect(await names("all", 9, "unknown-1700000000")).to.equal("");
      expect(await names("all", 9, undefined, false)).to.equal("abcd");
      expect(await names("open", 1, undefined, false)).to.equal("a");
      expect(await names("all", 2, "b-1700000000", false)).to.equal("cd");
      expect(await names("all", 9, "unknown-1700000000", false)).to.equal("");
      await ledger.complete("d-1700000000", 2500, {});
      expect([await ledger.count("open"), await ledger.count("completed"), await ledger.count("all")]).to.deep.equal([
        1, 3, 4,
      ]);
    });

    it("lists and counts stuck requests, and requests of a state that wait for a remote target or their notification", async () => {
      const waiting = { a: "crm", b: "erp", c: "crm", d: "crm", e: undefined };
      for (const [name, nextTarget] of Object.entries(waiting)) {
        await ledger.accept(someDeletion(name, { notify: true }), noScope);
        await run(`${name}-1700000000`, failed({ nextTarget, attempts: name < "c" ? 3 : 2, notify: true }));
      }
      await ledger.complete("d-1700000000", 2000, {});
      const names = async (state: ListedState, target?: string, after?: string, newestFirst = false) =>
        (await ledger.list({ state, target, newestFirst, limit: 9, after }))
          .map(({ requestId }) => requestId[0])
          .join("");
      for (const [state, target, expected] of [
        ["stuck", undefined, "ab"],
        ["open", "crm", "ac"],
        ["stuck", "crm", "a"],
        ["all", "crm", "ac"],
        ["all", NOTIFICATION, "d"],
        ["completed", "crm", ""],
        ["open", "unknown", ""],
      ] as const) {
        expect(await names(state, target), `${state} ${target}`).to.equal(expected);
        expect(await ledger.count(state, target), `${state} ${target}`).to.equal(expected.length);
      }
      expect(await names("open", "crm", "a-1700000000")).to.equal("c");
      expect(await names("open", "crm", undefined, true)).to.equal("ca");
    });

    it("counts open requests by problem and remote target, those with the most stuck first, and lists them by problem", async () => {
      const [down, slow] = ["crm answered 500", "crm did not answer in 10 s"];
      const runs = {
        a: [down, "crm", 1],
        b: [down, "crm", 3],
        c: [slow, "crm", 3],
        d: [slow, "crm", 4],
        e: [undefined, undefined, 0],
        f: [undefined, undefined, 0],
        g: [down, "crm", 5],
        h: ["entities: unavailable", undefined, 1],
      } as const;
      for (const [index, [name, [problem, nextTarget, attempts]]] of Object.entries(runs).entries()) {
        await ledger.accept(someDeletion(name, { acceptedAt: 1000 + index }), noScope);
        await run(`${name}-1700000000`, failed({ problem, nextTarget, attempts }));
      }
      await ledger.complete("g-1700000000", 2000, {});
      const reasons = [
        { problem: slow, target: "crm", requests: 2, stuck: 2, oldestAt: 1002 },
        { problem: down, target: "crm", requests: 2, stuck: 1, oldestAt: 1000 },
        { problem: undefined, target: undefined, requests: 2, stuck: 0, oldestAt: 1004 },
        { problem: "entities: unavailable", target: undefined, requests: 1, stuck: 0, oldestAt: 1007 },
      ];
      expect(await ledger.openReasons(9)).to.deep.equal(reasons);
      expect(await ledger.openReasons(2)).to.deep.equal(reasons.slice(0, 2));
      const listed = await ledger.list({ state: "open", problem: down, newestFirst: false, limit: 9 });
      expect(listed.map(({ requestId }) => requestId[0])).to.deep.equal(["a", "b"]);
      expect(await ledger.count("open", "crm", down)).to.equal(2);
      expect(await ledger.count("stuck", undefined, down)).to.equal(1);
    });

    it("stores the first of several concurrent keys of receipts, and returns it to every caller", async () => {
      const kept = await Promise.all(["one", "two", "three"].map((key) => ledger.receiptKey(key)));
      expect(new Set(kept).size).to.equal(1);
      expect(await ledger.receiptKey("four")).to.equal(kept[0]);
    });
  });
}
