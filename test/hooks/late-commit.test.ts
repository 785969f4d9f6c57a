import { expect } from "chai";
import { systemClock } from "../../src/clock.js";
import type { Outbox } from "../../src/entities/outbox.js";
import type { StoredEntity } from "../../src/entities/profile/entity.js";
import { noFailpoint } from "../../src/failpoint.js";
import { hookSender } from "../../src/hooks/sender.js";
import { openLog } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { openTestEngine } from "../stores/mongodb/engine.js";
import { heldCommits } from "../stores/mongodb/held-commits.js";
import { changeOf, commitOf, freshEntity, newHash, type Said } from "../support/commits.js";
import { shippedTables } from "../support/entity-stage.js";
import { HeldCalls } from "../support/held-calls.js";
import { onServers } from "../support/servers.js";
import { until } from "../support/until.js";

onServers(["mongodb"], "P41: a hook on mongodb", function () {
  this.timeout(60_000);
  const hook = { name: "crm", url: "https://crm.example", token: "t", segments: ["*"] };

  it("receives left of someone whose joined was stored while it read the members after a reset", async () => {
    const engine = await openTestEngine();
    const stores = await engine.another({ hooks: [hook] as never });
    const calls = new HeldCalls();
    const writer = heldCommits(engine, calls, [hook]);
    const say = async (entities: typeof writer, person: StoredEntity, said: Said, generation: number) =>
      entities.commit(commitOf([changeOf(person, [said])], { generation, at: Date.now() }));
    const ann = freshEntity([newHash()]);
    const reached = calls.hold(0, "commit");
    const joined = say(writer, ann, { add: ["vip"] }, 0);
    await reached;
    const generation = await stores.outbox.reset(hook.name, ["vip"], Date.now());

    // The process that sends stops when it has stored the outcome of the reset.
    let isSent = false;
    let isStored = false;
    const stored = async (write: () => Promise<void>) => {
      if (isStored) return new Promise<never>(() => {});
      await write();
      isStored = isSent;
    };
    const outbox: Outbox = {
      ...stores.outbox,
      remove: (ids) => stored(() => stores.outbox.remove(ids)),
      release: (ids) => stored(() => stores.outbox.release(ids)),
      claim: (ids) => (isStored ? new Promise<never>(() => {}) : stores.outbox.claim(ids)),
    };
    const sender = hookSender({
      ...{ ...stores, outbox, hooks: [hook], clock: systemClock, tables: shippedTables, damaged: () => {} },
      ...{ memory: new MemoryBudget(1e9), log: openLog("silent"), failpoint: noFailpoint },
      lease: async () => "renewed",
      calls: new Map([
        [
          hook.name,
          async (claim) => {
            const events = await claim();
            expect(events.map(({ change }) => change)).to.deep.equal(["reset"]);
            isSent = true;
            calls.release();
            expect(await joined).to.equal(true);
          },
        ],
      ]),
    });
    sender.start();
    await until("the outcome of the reset is stored", () => isStored);
    const known = (await stores.entities.load([ann.id])).profiles.get(ann.id) as StoredEntity;
    const version = { time: 2, arrival: 2, position: 0 };
    expect(await say(stores.entities, known, { remove: ["vip"], version }, generation)).to.equal(true);
    expect((await stores.outbox.of([ann.id])).map(({ change }) => change)).to.deep.equal(["left"]);
    await engine.close();
  });
});
