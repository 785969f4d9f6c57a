import { expect } from "chai";
import { slotCountsContract } from "../../../contracts/slot-counts.contract.js";
import { freshEntity, keep, messageFor } from "../../../support/commits.js";
import { onServers } from "../../../support/servers.js";
import { until } from "../../../support/until.js";
import { openTestEngine, type TestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  let engine: TestEngine;
  before(async () => {
    engine = await openTestEngine();
  });
  after(() => engine.close());

  slotCountsContract("mongodb", async () => ({ stores: engine.stores, close: () => engine.empty() }));

  describe("mongodb: messages that are not yet on a majority of the members", () => {
    afterEach(() => engine.empty());

    it("are counted once they are, whatever was counted and saved before", async () => {
      const { counts } = engine.stores;
      const db = engine.client.db(engine.name);
      const unconfirmed = { writeConcern: { w: 1, journal: false } } as const;
      for (let times = 0; times < 20; times += 1) {
        const stream = `web-${times}`;
        await db.collection("added_counts").insertOne({ stream, slot: 0, count: 1, arrival: 1 }, unconfirmed);
        let counted = 0;
        await until("no count is left to save", async () => {
          const found = await counts.unsaved(1, 9);
          await counts.saved(found);
          counted = found.at(-1)?.count ?? counted;
          return (await db.collection("added_counts").countDocuments()) === 0;
        });
        expect(counted, stream).to.equal(1);
      }
    });
  });

  it("reads the counts of streams without their messages, by queries with a time limit on the server", async () => {
    const { counts, entities } = engine.stores;
    const db = engine.client.db(engine.name);
    const entity = freshEntity();
    const messages = [1, 2, 3].map(() => messageFor(entity.id, { stream: "web", time: 1, arrival: 10 }));
    await keep(entities, entity, { messages });
    await db.command({ profile: 2 });
    await counts.streams(undefined, 9);
    const counted = await counts.counted(["web"], 0);
    await db.command({ profile: 0 });
    const operations = db.collection<{ ns: string; command: { maxTimeMS?: number } }>("system.profile");
    const noted = await operations.find({ ns: { $not: /system\./ } }).toArray();
    await operations.drop();
    await engine.empty();
    expect(counted).to.deep.equal(new Map([["web", 3]]));
    expect(noted.filter(({ ns }) => ns.endsWith(".messages"))).to.deep.equal([]);
    const reads = noted.filter(({ ns }) => /added_counts|streams|stream_counts/.test(ns));
    expect(reads).to.have.length(3);
    for (const { command } of reads) expect(command.maxTimeMS, JSON.stringify(command)).to.be.within(1, 10_000);
  });

  it("counts messages once that are committed while recorders save counts", async () => {
    const { counts, entities } = engine.stores;
    const commit = async () => {
      const entity = freshEntity();
      const messages = [1, 2].map(() => messageFor(entity.id, { stream: "web", time: 1, arrival: 10 }));
      await keep(entities, entity, { messages });
    };
    const save = async () => counts.saved(await counts.unsaved(1, 9));
    await Promise.all(Array.from({ length: 30 }, (_, n) => Promise.all([commit(), n % 3 === 0 ? save() : undefined])));
    await until("no count is left to save", async () => {
      await save();
      return (await counts.unsaved(1, 9)).length === 0;
    });
    const counted = await counts.counted(["web"], 0);
    await engine.empty();
    expect(counted).to.deep.equal(new Map([["web", 60]]));
  });
});
