import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import type { Deletion } from "../../src/deletions/deletion.js";
import type { AcceptedScope, Ledger } from "../../src/deletions/ports.js";
import type { EntityStore, Suppression } from "../../src/entities/ports.js";
import { freshEntity, keep, newHash } from "../support/commits.js";

export interface OpenLedger {
  readonly ledger: Ledger;
  readonly suppression: Suppression;
  readonly entities: EntityStore;
  close(): Promise<void>;
}

/** Of a request that names no stored profile. */
export const noScope: AcceptedScope = { profiles: [], free: new Map(), sealerKey: new Uint8Array(32).fill(7) };

/** A request that is new. */
export function someDeletion(name: string, over: Partial<Deletion> = {}): Deletion {
  return {
    requestId: `${name}-1700000000`,
    table: "user",
    identity: `hash-${name}`,
    acceptedAt: 1000,
    cutOff: 1000,
    entities: [`sealer-${name}`, `entity-${name}`],
    hashes: [`hash-${name}`, `other-${name}`],
    sealer: `sealer-${name}`,
    sealedIdentities: Uint8Array.of(1, 2, 3),
    targets: ["membership-index", "history-archive"],
    done: [],
    times: {},
    attempts: 0,
    problem: undefined,
    notBefore: 0,
    revision: 1,
    completedAt: undefined,
    ...over,
  };
}

/** What every engine promises of the ledger. */
export function ledgerContract(name: string, open: () => Promise<OpenLedger>): void {
  describe(`the ledger of ${name}`, () => {
    let at: OpenLedger;
    let ledger: Ledger;

    beforeEach(async () => {
      at = await open();
      ledger = at.ledger;
    });
    afterEach(() => at.close());

    const ids = async (options: Parameters<Ledger["open"]>[0]) =>
      (await ledger.open(options)).map(({ requestId }) => requestId);

    it("A request whose caller was told that it took too long is neither accepted nor extended", async () => {
      const late = AbortSignal.abort(new Error("late"));
      const wordsOf = (work: Promise<unknown>) => work.catch((error: Error) => error.message);
      expect(await wordsOf(ledger.accept(someDeletion("a"), noScope, late))).to.equal("late");
      expect(await ids({ limit: 9 })).to.deep.equal([]);
      await ledger.accept(someDeletion("b"), noScope);
      expect(await wordsOf(ledger.extend("b-1700000000", 1, { done: ["profile"] }, late))).to.equal("late");
      expect((await ledger.find("b-1700000000"))?.revision).to.equal(1);
    });

    it("hands out a request as it was accepted", async () => {
      const deletion = someDeletion("a", { acceptedAt: 1000.5, cutOff: 1000.5 });
      await ledger.accept(deletion, noScope);
      const found = await ledger.find(deletion.requestId);
      expect({ ...found, sealedIdentities: [...(found?.sealedIdentities ?? [])] }).to.deep.equal({
        ...deletion,
        sealedIdentities: [1, 2, 3],
      });
      expect(await ledger.find("unknown-1")).to.equal(undefined);
    });

    it("refuses a request id that it has, and keeps nothing of it", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      const twice = someDeletion("b", { requestId: someDeletion("a").requestId });
      const refused = await ledger.accept(twice, noScope).then(
        () => false,
        () => true,
      );
      expect(refused).to.equal(true);
      expect(await ledger.openFor("hash-b")).to.equal(undefined);
    });

    it("keeps requests that come at once each with its own number, and one that is refused fails none of the others", async () => {
      const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
      const before = someDeletion("before");
      await ledger.accept(before, noScope);
      const [twice, ...numbers] = await Promise.allSettled([
        ledger.accept(someDeletion("twice", { requestId: before.requestId }), noScope),
        ...names.map((name) => ledger.accept(someDeletion(name), noScope)),
      ]);
      expect(twice.status).to.equal("rejected");
      const given = numbers.map((one) => (one.status === "fulfilled" ? one.value : undefined));
      expect(new Set(given).size).to.equal(names.length);
      expect(given).not.to.include(undefined);
      const kept = (await ledger.since(0, 100)).map(({ sequence, deletion }) => [sequence, deletion.requestId]);
      expect(new Map(kept as [number, string][])).to.deep.equal(
        new Map([
          [kept[0]?.[0] as number, before.requestId],
          ...names.map((name, i) => [given[i] as number, someDeletion(name).requestId] as const),
        ]),
      );
      expect(await ledger.openFor("hash-twice")).to.equal(undefined);
    });

    it("keeps one of two requests that come at once for the same profile", async () => {
      const entity = await keep(at.entities, freshEntity([newHash()]));
      const scope = { ...noScope, profiles: [{ id: entity.id, revision: entity.revision }] };
      const numbers = await Promise.all(
        ["a", "b"].map((name) => ledger.accept(someDeletion(name, { entities: [`sealer-${name}`, entity.id] }), scope)),
      );
      expect(numbers.filter((number) => number !== undefined)).to.have.lengthOf(1);
    });

    it("finds the newest open request of an identity, and open ones over it whichever identity each was asked for by", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      await ledger.accept(someDeletion("b", { identity: "hash-a", hashes: ["hash-a"] }), noScope);
      await ledger.accept(someDeletion("c", { hashes: ["hash-c", "hash-a"] }), noScope);
      expect((await ledger.openFor("hash-a"))?.requestId).to.equal("b-1700000000");
      await ledger.complete("b-1700000000", 1, 2000);
      expect((await ledger.openFor("hash-a"))?.requestId).to.equal("a-1700000000");
      expect((await ledger.openOver(["hash-a"])).map(({ requestId }) => requestId)).to.deep.equal([
        "a-1700000000",
        "c-1700000000",
      ]);
      expect((await ledger.openOver(["hash-c", "hash-a", "unknown"])).map(({ requestId }) => requestId)).to.deep.equal([
        "a-1700000000",
        "c-1700000000",
      ]);
      expect(await ledger.openOver([])).to.deep.equal([]);
      expect(await ledger.openFor("other-a")).to.equal(undefined);
    });

    it("finds for each of several calls at once the open requests over its own identities", async () => {
      await ledger.accept(someDeletion("a", { hashes: ["hash-a"] }), noScope);
      await ledger.accept(someDeletion("b", { hashes: ["hash-b", "hash-a"] }), noScope);
      await ledger.accept(someDeletion("c", { hashes: ["hash-c"] }), noScope);
      const asked = [["hash-a"], ["hash-b"], ["hash-c"], ["hash-c", "hash-b"], ["unknown"]];
      const found = await Promise.all(asked.map((hashes) => ledger.openOver(hashes)));
      expect(found.map((over) => over.map(({ requestId }) => requestId.slice(0, 1)).join(""))).to.deep.equal([
        "ab",
        "b",
        "c",
        "bc",
        "",
      ]);
    });

    it("extends an open request, starts its stages again and never lowers a cut-off", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      await ledger.note("a-1700000000", 1, { done: ["profile"], attempts: 4, notBefore: 9_000, now: 0 });
      const extended = await ledger.extend("a-1700000000", 1, {
        cutOff: { at: 5000, holder: undefined },
        entities: ["entity-a", "more"],
        sealed: { sealer: "more", sealedIdentities: Uint8Array.of(9), sealerKey: new Uint8Array(32).fill(8) },
      });
      expect(extended).to.deep.include({
        cutOff: 5000,
        entities: ["sealer-a", "entity-a", "more"],
        hashes: ["hash-a", "other-a"],
        sealer: "more",
        done: [],
        attempts: 0,
        notBefore: 0,
      });
      const revision = extended?.revision ?? 0;
      expect(revision).to.be.greaterThan(1);
      const held = (await at.entities.find(["hash-a"])).owners.get("hash-a");
      const lower = await ledger.extend("a-1700000000", revision, {
        cutOff: { at: 10, holder: held },
        done: ["profile"],
      });
      expect(lower).to.deep.include({ done: ["profile"] });
      expect(lower?.revision).to.be.greaterThan(revision);
      expect(lower?.cutOff).to.equal(5000);
    });

    it("does not extend a request that has another revision by now, is completed, or is unknown", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      expect(await ledger.extend("a-1700000000", 7, { cutOff: { at: 5000, holder: undefined } })).to.equal(undefined);
      await ledger.complete("a-1700000000", 1, 2000);
      expect(await ledger.extend("a-1700000000", 1, { cutOff: { at: 5000, holder: undefined } })).to.equal(undefined);
      expect(await ledger.extend("x-1", 1, { cutOff: { at: 5000, holder: undefined } })).to.equal(undefined);
      expect((await ledger.find("a-1700000000"))?.cutOff).to.equal(1000);
    });

    it("moves no cut-off when the identity is held by another id than was found", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      const moved = await ledger.extend("a-1700000000", 1, { cutOff: { at: 5000, holder: "some-entity" } });
      expect(moved).to.equal(undefined);
      expect(await ledger.find("a-1700000000")).to.deep.include({ cutOff: 1000, revision: 1 });
    });

    it("lists open requests in order of acceptance, in pages, and the due ones alone", async () => {
      for (const letter of ["a", "b", "c"]) await ledger.accept(someDeletion(letter), noScope);
      await ledger.note("a-1700000000", 1, { done: [], attempts: 1, notBefore: 500, now: 0 });
      await ledger.complete("b-1700000000", 1, 2000);
      expect(await ids({ limit: 10 })).to.deep.equal(["a-1700000000", "c-1700000000"]);
      expect(await ids({ limit: 1 })).to.deep.equal(["a-1700000000"]);
      expect(await ids({ limit: 10, after: "a-1700000000" })).to.deep.equal(["c-1700000000"]);
      expect(await ids({ limit: 10, after: "b-1700000000" })).to.deep.equal(["c-1700000000"]);
      expect(await ids({ limit: 10, due: 499 })).to.deep.equal(["c-1700000000"]);
      expect(await ids({ limit: 10, due: 500 })).to.deep.equal(["a-1700000000", "c-1700000000"]);
      expect(await ids({ limit: 10, waiting: true })).to.deep.equal(["a-1700000000"]);
      expect(await ids({ limit: 10, waiting: true, after: "a-1700000000" })).to.deep.equal([]);
      await ledger.wake(["a-1700000000", "b-1700000000"]);
      expect(await ids({ limit: 10, due: 0 })).to.deep.equal(["a-1700000000", "c-1700000000"]);
      expect(await ids({ limit: 10, waiting: true })).to.deep.equal([]);
    });

    it("counts open requests, and the ones that keep failing", async () => {
      for (const letter of ["a", "b", "c"]) await ledger.accept(someDeletion(letter), noScope);
      await ledger.note("a-1700000000", 1, { done: [], attempts: 3, notBefore: 0, now: 0 });
      await ledger.complete("c-1700000000", 1, 2000);
      expect(await ledger.countOpen()).to.equal(2);
      expect(await ledger.countOpen({ attempts: 3 })).to.equal(1);
    });

    it("lets one runner have a request at a time, until its time is over or it lets go", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      expect(await ledger.lease("a-1700000000", "one", 0, 100)).to.equal(true);
      expect(await ledger.lease("a-1700000000", "two", 99, 200)).to.equal(false);
      expect(await ids({ limit: 10, due: 99 })).to.deep.equal([]);
      expect(await ledger.lease("a-1700000000", "one", 99, 150)).to.equal(true);
      expect(await ledger.lease("a-1700000000", "two", 150, 300)).to.equal(true);
      await ledger.release("a-1700000000", "one");
      expect(await ledger.lease("a-1700000000", "one", 299, 400)).to.equal(false);
      await ledger.release("a-1700000000", "two");
      expect(await ledger.lease("a-1700000000", "one", 299, 400)).to.equal(true);
      await ledger.complete("a-1700000000", 1, 500);
      expect(await ledger.lease("a-1700000000", "one", 600, 700)).to.equal(false);
      expect(await ledger.lease("unknown-1", "one", 0, 100)).to.equal(false);
    });

    it("lets a request run whose wait or lease began at a time that is still to come, as the clock has been set back", async () => {
      for (const letter of ["a", "b"]) await ledger.accept(someDeletion(letter), noScope);
      await ledger.note("a-1700000000", 1, { done: [], attempts: 1, notBefore: 900, now: 500 });
      expect(await ledger.lease("b-1700000000", "one", 500, 900)).to.equal(true);
      expect(await ids({ limit: 10, due: 500 })).to.deep.equal([]);
      expect(await ledger.lease("b-1700000000", "two", 500, 900)).to.equal(false);
      expect(await ids({ limit: 10, due: 499 })).to.deep.equal(["a-1700000000", "b-1700000000"]);
      expect(await ledger.lease("b-1700000000", "two", 499, 899)).to.equal(true);
      expect(await ledger.lease("b-1700000000", "one", 500, 900)).to.equal(false);
    });

    it("notes progress of the revision that was run alone", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      const later = await ledger.extend("a-1700000000", 1, { cutOff: { at: 5000, holder: undefined } });
      await ledger.note("a-1700000000", 1, { done: ["profile"], attempts: 1, notBefore: 7, now: 0 });
      expect(await ledger.find("a-1700000000")).to.deep.include({ done: [], attempts: 0 });
      const progress = { done: ["profile"], attempts: 1, notBefore: 7, now: 0 };
      await ledger.note("a-1700000000", later?.revision ?? 0, progress);
      expect(await ledger.find("a-1700000000")).to.deep.include({ done: ["profile"], attempts: 1, notBefore: 7 });
    });

    it("says of one of several completions at once that it completed the request", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      const said = await Promise.all([1, 2, 3].map(() => ledger.complete("a-1700000000", 1, 6000)));
      expect(said.sort()).to.deep.equal(["completed", "completed before", "completed before"]);
    });

    it("completes a request once, unless it was extended, forgets the sealed list, and never goes back", async () => {
      await ledger.accept(someDeletion("a"), noScope);
      const later = await ledger.extend("a-1700000000", 1, { cutOff: { at: 5000, holder: undefined } });
      const revision = later?.revision ?? 0;
      expect(await ledger.complete("a-1700000000", 1, 6000)).to.equal("extended");
      expect((await ledger.find("a-1700000000"))?.completedAt).to.equal(undefined);
      expect(await ledger.complete("a-1700000000", revision, 6000)).to.equal("completed");
      expect(await ledger.complete("a-1700000000", revision, 7000)).to.equal("completed before");
      const done = await ledger.find("a-1700000000");
      expect(done?.completedAt).to.equal(6000);
      expect(done?.sealedIdentities).to.have.length(0);
      await ledger.note("a-1700000000", revision, { done: [], attempts: 1, notBefore: 7, now: 0 });
      await ledger.wake(["a-1700000000"]);
      expect(await ledger.find("a-1700000000")).to.deep.equal(done);
    });

    it("numbers requests, and says up to which number none is open", async () => {
      expect(await ledger.settledSequence()).to.equal(0);
      for (const letter of ["a", "b", "c"]) await ledger.accept(someDeletion(letter), noScope);
      const [first, second, third] = await ledger.since(0, 10);
      expect([first, second, third].map((item) => item?.deletion.identity)).to.deep.equal([
        "hash-a",
        "hash-b",
        "hash-c",
      ]);
      expect(await ledger.settledSequence()).to.equal((first?.sequence ?? 0) - 1);
      await ledger.complete("b-1700000000", 1, 2000);
      await ledger.complete("a-1700000000", 1, 2000);
      expect(await ledger.settledSequence()).to.equal((third?.sequence ?? 0) - 1);
      await ledger.complete("c-1700000000", 1, 2000);
      expect(await ledger.settledSequence()).to.equal(third?.sequence);
      const rest = await ledger.since(first?.sequence ?? 0, 1);
      expect(rest.map(({ deletion }) => deletion.identity)).to.deep.equal(["hash-b"]);
    });

    it("forgets requests completed before an instant, suppression included, and no number is given twice", async () => {
      for (const letter of ["a", "b"]) await ledger.accept(someDeletion(letter), noScope);
      const last = (await ledger.since(0, 10)).at(-1)?.sequence ?? 0;
      await ledger.complete("b-1700000000", 1, 2000);
      await ledger.expire(2000, async () => {});
      expect(await ledger.find("b-1700000000")).to.not.equal(undefined);
      const refused = ledger.expire(2001, async () => {
        throw new Error("not noted");
      });
      expect(await refused.catch((error: Error) => error.message)).to.equal("not noted");
      expect(await ledger.find("b-1700000000")).to.not.equal(undefined);
      const noted: number[] = [];
      await ledger.expire(2001, async (newest) => void noted.push(newest));
      expect(noted).to.deep.equal([last]);
      expect(await ledger.find("b-1700000000")).to.equal(undefined);
      expect([...(await at.suppression.erased(["entity-a", "entity-b"]))]).to.deep.equal(["entity-a"]);
      expect([...(await at.suppression.cutOffs(["other-a", "other-b"])).keys()]).to.deep.equal(["other-a"]);
      await ledger.accept(someDeletion("c"), noScope);
      expect((await ledger.since(0, 10)).at(-1)?.sequence).to.be.greaterThan(last);
    });

    it("forgets any number of requests, and lets other requests run meanwhile", async function () {
      this.timeout(60_000);
      const names = Array.from({ length: 1_100 }, (_, n) => `n${n}`);
      const accepted = await Promise.all(names.map((name) => ledger.accept(someDeletion(name), noScope)));
      await Promise.all(names.map((name) => ledger.complete(`${name}-1700000000`, 1, 2000)));
      await ledger.accept(someDeletion("open"), noScope);
      let isDone = false;
      let turns = 0;
      const expired = ledger.expire(2001, async () => {}).then(() => (isDone = true));
      for (; !isDone; turns += 1) await setImmediate();
      await expired;
      expect(turns).to.be.at.least(2);
      expect(await ledger.list({ state: "completed", newestFirst: true, limit: 9 })).to.deep.equal([]);
      expect(await at.suppression.erased(names.map((name) => `entity-${name}`))).to.deep.equal(new Set());
      expect(await at.suppression.cutOffs(names.flatMap((name) => [`hash-${name}`, `other-${name}`]))).to.deep.equal(
        new Map(),
      );
      expect(await at.suppression.erased(["entity-open"])).to.deep.equal(new Set(["entity-open"]));
      expect(await ledger.settledSequence()).to.equal(Math.max(...accepted.map(Number)));
    });

    it("lists and counts requests of a state, the newest or the oldest first, in pages", async () => {
      for (const name of ["a", "b", "c", "d"]) await ledger.accept(someDeletion(name), noScope);
      await ledger.complete("b-1700000000", 1, 2000);
      await ledger.complete("c-1700000000", 1, 2000);
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
      await ledger.complete("d-1700000000", 1, 2000);
      expect([await ledger.count("open"), await ledger.count("completed"), await ledger.count("all")]).to.deep.equal([
        1, 3, 4,
      ]);
    });

    it("keeps the times of stages, and why the last attempt failed until there is progress", async () => {
      const id = "a-1700000000";
      await ledger.accept(someDeletion("a"), noScope);
      const times = { "membership-index": { erasedAt: 1500.5 } };
      await ledger.note(id, 1, { done: [], times, attempts: 1, problem: "crm answered 500", notBefore: 7, now: 0 });
      expect(await ledger.find(id)).to.deep.include({ times, problem: "crm answered 500" });
      await ledger.note(id, 1, { done: ["profile"], attempts: 0, notBefore: 0, now: 0 });
      expect(await ledger.find(id)).to.deep.include({ times, problem: undefined });
      const extended = await ledger.extend(id, 1, {});
      expect(extended).to.deep.include({ times, problem: undefined });
      const later = { "membership-index": { erasedAt: 1500.5, verifiedAt: 1700 } };
      await ledger.complete(id, extended?.revision ?? 0, 2000, later);
      expect(await ledger.find(id)).to.deep.include({ times: later, completedAt: 2000 });
    });

    it("keeps the first key of receipts, the same for all that bring one at once", async () => {
      const kept = await Promise.all(["one", "two", "three"].map((key) => ledger.receiptKey(key)));
      expect(new Set(kept).size).to.equal(1);
      expect(await ledger.receiptKey("four")).to.equal(kept[0]);
    });
  });
}
