import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { segmentNames } from "../../src/catalogue/segments.js";
import { monotonicClock, systemClock } from "../../src/clock.js";
import { type DeletionService, openDeletions } from "../../src/deletions/deletion-service.js";
import { downstreamTargets } from "../../src/deletions/targets/index.js";
import { collectMessages } from "../../src/entities/collect/collect-messages.js";
import { parseMessage } from "../../src/entities/collect/parse-message.js";
import { identityHashing } from "../../src/entities/profile/identity.js";
import { noFailpoint } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import type { Stores } from "../../src/stores/stores.js";
import { MOST_SEGMENTS, messageRules, userTable } from "../support/entity-stage.js";
import { HeldCalls, portsThrough } from "../support/held-calls.js";
import { storesOnServers } from "../support/servers.js";
import { type OpenStores, openTemporaryStores, storesOf } from "../support/stores.js";
import { noObserver, runNow } from "./erasure-stage.js";

/** One process that collects and erases. */
interface Process {
  collect(...messages: object[]): Promise<void>;
  deletions: DeletionService;
}

describe("a message that merges two profiles beside a DELETE of one of them", function () {
  this.timeout(60_000);
  const now = monotonicClock(systemClock);
  let open: OpenStores;
  /** Another opening of the same stores, where the engine allows one; else the same. */
  let second: Stores;
  /** Every id that a profile was ever given. */
  let made: string[];

  beforeEach(async () => {
    made = [];
    open = await openTemporaryStores();
    second = open.stores;
    if (storesOnServers) {
      second = (await storesOf(open.dir)).stores;
    }
  });

  afterEach(async () => {
    if (second !== open.stores) await second.close();
    await open.close();
  });

  function process(opened: Stores, calls = new HeldCalls()): Process {
    const stores = portsThrough(opened, ["entities", "ledger"], calls.around);
    const common = {
      ...stores,
      segments: segmentNames(stores.catalogue),
      hashIdentity: identityHashing(stores.pepper),
      clock: systemClock,
      newId() {
        const id = randomBytes(16).toString("hex");
        made.push(id);
        return id;
      },
    };
    const take = collectMessages(common, MOST_SEGMENTS);
    return {
      async collect(...messages) {
        const arrival = now();
        const batch = messages.map((json, position) => {
          const { time = arrival, ...message } = parseMessage(json, messageRules());
          return { id: common.newId(), isRepeat: false, version: { time, arrival, position }, bytes: 100, message };
        });
        await take("web", userTable, batch);
      },
      deletions: openDeletions({
        ...common,
        targets: downstreamTargets({ ...stores, remote: [], failpoint: noFailpoint }),
        clock: systemClock,
        now: async () => now(),
        log: openLog("silent"),
        observer: noObserver,
        failpoint: noFailpoint,
        keepMs: undefined,
        pollMs: 1_000,
      }),
    };
  }

  const remove = ({ deletions }: Process, field: string, value: string) => deletions.accept("user", { field, value });

  async function isComplete(requestId: string): Promise<boolean> {
    return (await open.stores.ledger.find(requestId))?.completedAt !== undefined;
  }

  /** Runs what is open until nothing is: requests may wait for each other. */
  async function runAll({ deletions }: Process, requestIds: readonly string[]): Promise<void> {
    for (let round = 0; round < 10; round += 1)
      for (const id of requestIds) await runNow(open.stores.ledger, deletions, id);
    for (const id of requestIds) expect(await isComplete(id)).to.equal(true);
  }

  async function expectNothingLeft(): Promise<void> {
    const { entities, memberships, history, entityKeys } = open.stores;
    expect(made.length).to.be.greaterThan(0);
    for (const port of [entities, memberships, history]) expect(await port.holds(made)).to.equal(false);
    expect(await entityKeys.read(made)).to.have.property("size", 0);
    expect(await memberships.sizes(["vip"])).to.deep.equal([0]);
  }

  /** Two profiles: the first one is the older, into which the other is merged. */
  async function twoProfiles(at: Process, older: object, younger: object): Promise<void> {
    await at.collect({ ...older, segments: { add: ["vip"] } }, { ...older, seen: 1 });
    await at.collect({ ...younger, segments: { add: ["vip"] } }, { ...younger, seen: 2 });
  }

  for (const { which, older, younger } of [
    { which: "that stays", older: { _uid: "t" }, younger: { user_id: "x" } },
    { which: "that ends in the other", older: { user_id: "x" }, younger: { _uid: "t" } },
  ]) {
    it(`leaves nothing when it is done after the DELETE has read the profile ${which}, and before it is accepted`, async () => {
      const calls = new HeldCalls();
      const eraser = process(open.stores, calls);
      const writer = process(second);
      await twoProfiles(writer, older, younger);
      const reached = calls.hold(0, "accept");
      const asked = remove(eraser, "_uid", "t");
      await reached;
      await writer.collect({ ...older, ...younger });
      calls.release();
      await runAll(eraser, [await asked]);
      await expectNothingLeft();
    });

    it(`leaves nothing when it is committed after the DELETE of the profile ${which} is accepted`, async () => {
      const calls = new HeldCalls();
      await twoProfiles(process(second), older, younger);
      const reached = calls.hold(0, "commit");
      const written = process(second, calls).collect({ ...older, ...younger });
      await reached;
      const eraser = process(open.stores);
      const asked = await remove(eraser, "_uid", "t");
      const askedToo = await remove(eraser, "user_id", "x");
      calls.release();
      await written;
      await runAll(eraser, [asked, askedToo]);
      await expectNothingLeft();
    });
  }

  it("leaves nothing of 24 persons whose profiles are merged while one is deleted, once both are deleted", async () => {
    const [writer, eraser] = [process(second), process(open.stores)];
    const persons = Array.from({ length: 24 }, (_, index) => ({ _uid: `t-${index}`, user_id: `x-${index}` }));
    await Promise.all(
      persons.map(async ({ _uid, user_id }, index) => {
        const pair = [{ _uid }, { user_id }];
        const [older = {}, younger = {}] = index % 2 === 0 ? pair : pair.reverse();
        await twoProfiles(writer, older, younger);
      }),
    );
    const merged = persons.map(async (person) => {
      const [, requestId] = await Promise.all([writer.collect(person), remove(eraser, "_uid", person._uid)]);
      return requestId;
    });
    const requests = await Promise.all(merged);
    for (const { _uid, user_id } of persons) {
      requests.push(await remove(eraser, "_uid", _uid), await remove(eraser, "user_id", user_id));
    }
    await runAll(eraser, [...new Set(requests)]);
    await expectNothingLeft();
  });
});
