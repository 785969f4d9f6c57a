import { expect } from "chai";
import type { Identity } from "../../src/entities/profile/identity.js";
import type { Log } from "../../src/log.js";
import { noScope } from "../contracts/ledger.contract.js";
import { until } from "../support/until.js";
import { type ErasureStage, erasureStage } from "./erasure-stage.js";
import { place } from "./place.js";

const person = (index: number): Identity => ({ field: "user_id", value: `person-${index}` });

/** No test waits for a second poll. */
const NEVER_MS = 3_600_000;

describe("the scheduler of deletions", function () {
  this.timeout(60_000);
  let stage: ErasureStage;

  const accept = (index: number) => stage.deletions.accept("user", person(index));
  const isComplete = async (requestId: string) =>
    (await stage.stores.ledger.find(requestId))?.completedAt !== undefined;
  const completed = (requestId: string) => until("it is complete", () => isComplete(requestId), 30_000);

  it("runs every due request in consecutive polls, without a notification or a pause", async () => {
    stage = await erasureStage({ pollMs: NEVER_MS });
    for (let index = 0; index < 250; index += 1) await accept(index);
    stage.deletions.start();
    await until("all are complete", async () => (await stage.stores.ledger.count("open")) === 0, 30_000);
  });

  it("runs a request at once for a notification, and one whose notification was lost at the next poll", async () => {
    stage = await erasureStage({ pollMs: 500 });
    stage.deletions.start();
    const [lost, notified] = [await accept(1), await accept(2)];
    stage.stores.dueNotifications.send(notified);
    for (const requestId of [notified, lost]) await completed(requestId);
  });

  it("logs the error of a run that cannot begin with the request id, and runs the request later", async () => {
    const warned: { err?: unknown; request?: string }[] = [];
    const note = (fields: object) => void warned.push(fields);
    let isReadOnly = true;
    stage = await erasureStage({
      pollMs: 100,
      log: { debug: () => {}, info: () => {}, warn: note, error: note } as unknown as Log,
      wrap: ({ ledger }) => ({
        ledger: {
          ...ledger,
          async lease(...args) {
            if (isReadOnly) throw new Error("The ledger is read-only");
            return ledger.lease(...args);
          },
        },
      }),
    });
    const requestId = await accept(1);
    stage.deletions.start();
    await until("the error is logged", () => warned.length > 0);
    expect(warned[0]?.request).to.equal(requestId);
    expect(String(warned[0]?.err)).to.include("The ledger is read-only");
    isReadOnly = false;
    await completed(requestId);
  });

  it("stores the problem that the remote target of a request is no longer configured", async () => {
    stage = await erasureStage({ pollMs: 100 });
    const { ledger } = stage.stores;
    const deletion = await ledger.find(await accept(1));
    if (deletion === undefined) throw new Error("There is no such request");
    const requestId = `x${deletion.requestId.slice(1)}`;
    await ledger.accept({ ...deletion, requestId, targets: ["gone"] }, noScope);
    await ledger.lease(requestId, "another process", 0, 1);
    await ledger.release(requestId, "another process", { ...deletion, done: ["profile"], nextTarget: "gone" });
    stage.deletions.start();
    await until(
      "it has failed",
      async () => (await ledger.find(requestId))?.problem === "gone is no longer configured",
    );
  });

  it("does not run a request for a notification while the request waits for its next try", async () => {
    const crm = place("crm");
    crm.isUnreachable = true;
    let leases = 0;
    stage = await erasureStage({
      more: [crm.target],
      pollMs: NEVER_MS,
      wrap: ({ ledger }) => ({
        ledger: {
          ...ledger,
          async lease(...args) {
            leases += 1;
            return ledger.lease(...args);
          },
        },
      }),
    });
    stage.deletions.start();
    const requestId = await accept(1);
    for (let attempt = 0; attempt < 12; attempt += 1) await stage.run(requestId);
    const before = leases;
    await until("three notifications were heard", () => {
      stage.stores.dueNotifications.send(requestId);
      return leases >= before + 3;
    });
    expect(crm.calls).to.have.length(12);
    expect((await stage.stores.ledger.find(requestId))?.attempts).to.equal(12);
  });

  it("runs requests of one person that call a remote target one after another, each without a poll", async () => {
    stage = await erasureStage({ more: [place("crm").target], pollMs: NEVER_MS });
    const ids: string[] = [];
    for (let index = 0; index < 20; index += 1) ids.push(await accept(1));
    stage.deletions.start();
    for (const id of ids) await completed(id);
    const times = await Promise.all(ids.map(async (id) => (await stage.stores.ledger.find(id))?.completedAt ?? 0));
    expect(times).to.deep.equal([...times].sort((a, b) => a - b));
  });

  it("completes 1,000 requests of one person within 20 s, and one of another person soon", async () => {
    stage = await erasureStage();
    stage.deletions.start();
    await stage.profile([person(1)]);
    const began = performance.now();
    const ids = await Promise.all(Array.from({ length: 1_000 }, () => accept(1)));
    for (const id of ids) stage.stores.dueNotifications.send(id);
    const other = await accept(2);
    await completed(other);
    expect(performance.now() - began).to.be.below(10_000);
    await until("all are complete", async () => (await stage.stores.ledger.count("open")) === 0, 30_000);
    expect(performance.now() - began).to.be.below(20_000);
  });

  it("stops only when the run in progress has ended", async () => {
    const crm = place("crm");
    crm.hang();
    stage = await erasureStage({ more: [crm.target], pollMs: 100 });
    stage.deletions.start();
    await accept(1);
    await until("the target is called", () => crm.calls.length > 0);
    let isStopped = false;
    const stopping = stage.deletions.stop().then(() => {
      isStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStopped).to.equal(false);
    crm.answer();
    await stopping;
    expect(crm.erased).to.have.length(1);
  });

  describe("while a remote target accepts calls and never answers them", () => {
    let crm: ReturnType<typeof place>;
    let erp: ReturnType<typeof place>;

    beforeEach(async () => {
      [crm, erp] = [place("crm"), place("erp")];
      stage = await erasureStage({ more: [crm.target, erp.target], pollMs: 200 });
    });
    afterEach(() => {
      for (const target of [crm, erp]) target.answer();
    });

    it("runs every other request up to that target, with at most 8 concurrent calls to it", async () => {
      erp.hang();
      const profiles: string[] = [];
      for (let index = 0; index < MANY; index += 1) {
        profiles.push(await stage.profile([person(index)]));
        await accept(index);
      }
      stage.deletions.start();
      await until("the other target has erased all", () => crm.calls.length === MANY, 30_000);
      await until("the hanging one is called", () => erp.calls.length === 8);
      const { entities, memberships, history } = stage.stores;
      for (const port of [entities, memberships, history]) expect(await port.holds(profiles)).to.equal(false);
      expect(erp.calls.length).to.equal(8);
      erp.answer();
      await until("all are complete", async () => (await stage.stores.ledger.count("open")) === 0, 30_000);
    });

    it("calls it for one request of a person at a time, so that their number delays no other person", async () => {
      erp.hang();
      const [first] = await Promise.all(Array.from({ length: MANY }, () => accept(1)));
      stage.deletions.start();
      await until("the hanging one is called", () => erp.calls.length === 1);
      const other = await accept(2);
      await until("it is called for the other person", () => erp.calls.length === 2);
      expect(erp.calls).to.deep.equal([first, other]);
      expect(crm.calls).to.have.members([first, other]);
    });

    it("erases at another remote target the requests that the hanging one has erased before", async () => {
      erp.isUnreachable = true;
      for (let index = 0; index < MANY; index += 1) await accept(index);
      stage.deletions.start();
      await until("erp has failed for all", () => new Set(erp.calls).size === MANY, 30_000);
      crm.hang();
      erp.isUnreachable = false;
      await until(
        "erp has erased all",
        () => new Set(erp.erased.map(({ requestId }) => requestId)).size === MANY,
        15_000,
      );
    });
  });
});

/** More requests than concurrent runs. */
const MANY = 30;
