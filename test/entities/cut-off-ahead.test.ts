import { expect } from "chai";
import { type EntityStage, entityStage } from "../support/entity-stage.js";

describe("a deletion whose cut-off is an hour ahead of the clock", () => {
  const cutOff = Date.now() + 3_600_000;
  let stage: EntityStage;

  beforeEach(async () => {
    stage = await entityStage(({ suppression }) => ({
      suppression: {
        ...suppression,
        async cutOffs(hashes) {
          const ann = stage.hashIdentity("user", { field: "_uid", value: "ann" });
          const cutOffs = await suppression.cutOffs(hashes);
          return hashes.includes(ann) ? cutOffs.set(ann, cutOff) : cutOffs;
        },
      },
    }));
  });
  afterEach(() => stage.close());

  it("A message about the deleted entity without an event time is rejected, and the other messages are stored", async () => {
    const messages = [{ _uid: "ben" }, { _uid: "ann" }, { _uid: "cleo" }];
    expect(await stage.collect(messages)).to.deep.equal(["deletion_ahead"]);
    expect(await stage.counted()).to.equal(2);
    expect(await stage.read("_uid", "ann")).to.equal(undefined);
  });

  it("Later batches of the same request are stored", async () => {
    const messages = Array.from({ length: 1_001 }, (_, n) => ({ _uid: n === 7 ? "ann" : `u${n}` }));
    expect(await stage.request(messages)).to.deep.equal(["deletion_ahead"]);
    expect(await stage.counted()).to.equal(1_000);
  });

  it("A message with an event time up to the cut-off is dropped without an issue", async () => {
    expect(await stage.collect([cutOff - 1, cutOff].map((at) => ({ _uid: "ann", at })))).to.deep.equal([]);
    expect(await stage.counted()).to.equal(0);
  });
});
