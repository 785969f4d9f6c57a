import { expect } from "chai";
import type { Db } from "mongodb";
import { isDuplicate } from "../../src/stores/mongodb/collection.js";
import { inTurns } from "../../src/stores/mongodb/update-turns.js";
import { openTestDatabase } from "../support/mongo-database.js";
import { onServers } from "../support/servers.js";

interface Numbered {
  readonly _id: string;
  readonly number: number;
}

onServers(["mongodb"], "changes that a process makes in turns", () => {
  let db: Db;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ db, close } = await openTestDatabase([]));
    await db.collection<Numbered>("numbers").insertOne({ _id: "a", number: 0 });
  });
  afterEach(() => close());

  const number = async () => (await db.collection<Numbered>("numbers").findOne({ _id: "a" }))?.number;

  it("do not undo each other, also where the collection is named again for each", async () => {
    const turns = inTurns(db);
    const raise = () => turns.collection<Numbered>("numbers").updateOne({ _id: "a" }, { $inc: { number: 1 } });
    await Promise.all(Array.from({ length: 30 }, raise));
    expect(await number()).to.equal(30);
  });

  it("succeed for one of many that expect the same", async () => {
    const numbers = inTurns(db).collection<Numbered>("numbers");
    const tries = Array.from({ length: 20 }, () => numbers.updateOne({ _id: "a", number: 0 }, { $inc: { number: 1 } }));
    const matched = (await Promise.all(tries)).map(({ matchedCount }) => matchedCount);
    expect(matched.filter((count) => count > 0)).to.have.length(1);
  });

  it("are told as one where they are made at once, however many", async () => {
    const numbers = inTurns(db).collection<Numbered>("numbers");
    const ids = Array.from({ length: 150 }, (_, index) => `many ${index}`);
    await numbers.insertMany(ids.map((_id) => ({ _id, number: 0 })));
    const raise = (_id: string) => ({ updateOne: { filter: { _id, number: 0 }, update: { $inc: { number: 1 } } } });
    expect(await numbers.bulkWrite(ids.map(raise), { ordered: false })).to.include({ matchedCount: 150 });
    const insert = { insertOne: { document: { _id: "a", number: 9 } } };
    const failure = await numbers
      .bulkWrite([insert, ...ids.map((_id) => ({ deleteOne: { filter: { _id } } }))], { ordered: false })
      .catch((error: unknown) => error);
    expect(isDuplicate(failure)).to.equal(true);
    expect(await numbers.countDocuments()).to.equal(1);
  });

  it("go on after one that fails", async () => {
    const numbers = inTurns(db).collection<Numbered>("numbers");
    const failed = await numbers.updateOne({ _id: "a" }, { $wrong: { number: 1 } } as never).then(
      () => false,
      () => true,
    );
    await numbers.updateOne({ _id: "a" }, { $inc: { number: 1 } });
    expect(failed).to.equal(true);
    expect(await number()).to.equal(1);
  });

  it("wait no longer than they may for one that does not end", async () => {
    const stuck = new Promise<never>(() => {});
    const never = { collection: () => ({ updateOne: () => stuck }) } as unknown as Db;
    const numbers = inTurns(never, 20).collection<Numbered>("numbers");
    void numbers.updateOne({ _id: "a" }, { $inc: { number: 1 } });
    const error = await numbers.updateOne({ _id: "a" }, { $inc: { number: 1 } }).catch((failure: unknown) => failure);
    expect(error).to.include({ kind: "unavailable" });
  });
});
