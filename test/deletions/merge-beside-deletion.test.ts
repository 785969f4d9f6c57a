import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { segmentNames } from "../../src/catalogue/segment-names.js";
import { arrivals, systemClock } from "../../src/clock.js";
import { noObserver } from "../../src/deletions/deletion-observer.js";
import { type Erasure, openErasure } from "../../src/deletions/erasure.js";
import { downstreamTargets } from "../../src/downstream/index.js";
import { collectMessages } from "../../src/entities/collect-messages.js";
import { identityHashing } from "../../src/entities/identity.js";
import { parseMessage } from "../../src/entities/parse-message.js";
import { sealing } from "../../src/entities/sealed.js";
import { noFailpoint } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import type { Stores } from "../../src/stores/stores.js";
import { messageRules, userTable } from "../support/entity-stage.js";
import { holdFirst } from "../support/held-database.js";
import { storesOnServers } from "../support/servers.js";
import { type OpenStores, storesOf, temporaryStores } from "../support/stores.js";

/** One process that collects and erases. */
interface Process {
  collect(...messages: object[]): Promise<void>;
  erasure: Erasure;
}

type Wrap = (stores: Stores) => Partial<Stores>;
type Held = ReturnType<typeof holdFirst>;

describe("a message that merges two profiles beside a DELETE of one of them", function () {
  this.timeout(60_000);
  const now = arrivals(systemClock);
  let open: OpenStores;
  /** Another opening of the same stores, where the engine allows one; else the same. */
  let second: Stores;
  /** Every id that was ever given a key. */
  let made: string[];

  beforeEach(async () => {
    made = [];
    open = await temporaryStores();
    second = open.stores;
    if (storesOnServers) {
      second = (await storesOf(open.dir)).stores;
    }
  });

  afterEach(async () => {
    if (second !== open.stores) await second.close();
    await open.close();
  });

  function process(opened: Stores, wrap: Wrap = () => ({})): Process {
    const { entityKeys } = opened;
    const noted: Stores["entityKeys"] = {
      ...entityKeys,
      create(ids) {
        made.push(...ids);
        return entityKeys.create(ids);
      },
    };
    const stores: Stores = { ...opened, entityKeys: noted, ...wrap(opened) };
    const common = {
      ...stores,
      segments: segmentNames(stores.catalogue),
      hashIdentity: identityHashing(stores.pepper),
      sealing: sealing(stores.entityKeys),
      newId: () => randomBytes(16).toString("hex"),
    };
    const take = collectMessages(common);
    return {
      async collect(...messages) {
        const arrival = now();
        const batch = messages.map((json, position) => {
          const { time = arrival, ...message } = parseMessage(json, messageRules(), Date.now());
          return { id: common.newId(), mayBeKept: false, stamp: { time, arrival, position }, message };
        });
        await take("web", userTable, batch);
      },
      erasure: openErasure({
        ...common,
        targets: downstreamTargets({ ...stores, remote: [], failpoint: noFailpoint }),
        clock: systemClock,
        arrivals: now,
        log: openLog("silent"),
        observer: noObserver,
        failpoint: noFailpoint,
        keepMs: undefined,
      }),
    };
  }

  const remove = ({ erasure }: Process, field: string, value: string) => erasure.request("user", { field, value });

  const beforeSave =
    (held: Held): Wrap =>
    ({ entities }) => ({
      entities: {
        ...entities,
        async save(changes) {
          await held.hook("save");
          return entities.save(changes);
        },
      },
    });

  /** Before a request looks for writers to fence off. */
  const beforeLook =
    (held: Held): Wrap =>
    ({ history }) => ({
      history: {
        ...history,
        async pendingFor(hashes, entities) {
          await held.hook("pendingFor");
          return history.pendingFor(hashes, entities);
        },
      },
    });

  async function isComplete(requestId: string): Promise<boolean> {
    return (await open.stores.ledger.find(requestId))?.completedAt !== undefined;
  }

  /** Runs what is open until nothing is: requests may wait for each other. */
  async function runAll({ erasure }: Process, requestIds: readonly string[]): Promise<void> {
    for (let round = 0; round < 10; round += 1) for (const id of requestIds) await erasure.run(id);
    for (const id of requestIds) expect(await isComplete(id)).to.equal(true);
  }

  async function expectNothingLeft(): Promise<void> {
    const { entities, memberships, history, entityKeys } = open.stores;
    expect(made.length).to.be.greaterThan(0);
    for (const port of [entities, memberships, history]) expect(await port.holds(made)).to.equal(false);
    expect(await entityKeys.holds(made)).to.equal(false);
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
    it(`leaves nothing when it is done after the DELETE of the profile ${which} has looked, and before it is accepted`, async () => {
      const stop = holdFirst("accept");
      const { ledger } = open.stores;
      const eraser = process(open.stores, () => ({
        ledger: {
          ...ledger,
          async accept(deletion) {
            await stop.hook("accept");
            return ledger.accept(deletion);
          },
        },
      }));
      const writer = process(second);
      await twoProfiles(writer, older, younger);
      const asked = remove(eraser, "_uid", "t");
      await stop.reached;
      await writer.collect({ ...older, ...younger });
      stop.release();
      await runAll(eraser, [await asked]);
      await expectNothingLeft();
    });

    it(`leaves nothing when it is saved after the DELETE of the profile ${which} is accepted, and before writers are fenced off`, async () => {
      const [save, look] = [holdFirst("save"), holdFirst("pendingFor")];
      const plain = process(second);
      await twoProfiles(plain, older, younger);
      const writer = process(second, beforeSave(save));
      const eraser = process(open.stores, beforeLook(look));
      const written = writer.collect({ ...older, ...younger });
      await save.reached;
      const asked = remove(eraser, "_uid", "t");
      await look.reached;
      save.release();
      await written;
      look.release();
      await runAll(eraser, [await asked]);
      await expectNothingLeft();
    });
  }

  it("is not reported as complete while the profile that it went into, which another DELETE names, is there", async () => {
    const [save, first, other] = [holdFirst("save"), holdFirst("pendingFor"), holdFirst("pendingFor")];
    const plain = process(second);
    await twoProfiles(plain, { user_id: "x" }, { _uid: "t" });
    const hash = identityHashing(open.stores.pepper)("user", { field: "user_id", value: "x" });
    const root = [...(await open.stores.entities.owners([hash])).values()];
    const written = process(second, beforeSave(save)).collect({ user_id: "x", _uid: "t" });
    await save.reached;
    const eraser = process(open.stores, beforeLook(first));
    const asked = remove(eraser, "_uid", "t");
    await first.reached;
    const askedToo = remove(process(open.stores, beforeLook(other)), "user_id", "x");
    await other.reached;
    save.release();
    await written;
    first.release();
    const id = await asked;
    await eraser.erasure.run(id);
    const { entities, entityKeys } = open.stores;
    const isThere = (await entities.holds(root)) || (await entityKeys.holds(root));
    expect({ isComplete: await isComplete(id), isThere }).to.not.deep.equal({ isComplete: true, isThere: true });
    other.release();
    await runAll(eraser, [id, await askedToo]);
    await expectNothingLeft();
  });

  it("leaves nothing of 24 persons whose profiles are merged while one is deleted, once both are", async () => {
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
