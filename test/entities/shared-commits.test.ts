import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { type EntityStage, entityStage } from "../support/entity-stage.js";

describe("messages of requests that come at once", () => {
  let stage: EntityStage;
  let commits: string[][];
  let hold: Promise<void>;

  async function open(options: { deadlineMs?: number } = {}): Promise<void> {
    commits = [];
    hold = Promise.resolve();
    const wrap: Parameters<typeof entityStage>[0] = ({ entities }) => ({
      entities: {
        ...entities,
        async commit(commit) {
          commits.push(commit.messages.map(({ id }) => id));
          await hold;
          return entities.commit(commit);
        },
      },
    });
    stage = await entityStage(wrap, options);
  }
  afterEach(() => stage.close());

  const newId = () => randomBytes(16).toString("hex");

  it("are kept once when two of them are the same message", async () => {
    await open();
    // The first four commits hold back the rest, which become one group.
    const others = Array.from({ length: 4 }, (_, n) => stage.collect([{ _uid: `other ${n}` }]));
    const id = newId();
    const repeats = [1, 2, 3].map(() => stage.collect([{ _uid: "ann", plan: "gold" }], { ids: [id] }));
    await Promise.all([...others, ...repeats]);
    expect(commits.filter((ids) => ids.includes(id))).to.deep.equal([[id]]);
    expect(await stage.counted()).to.equal(5);
    expect(await stage.read("_uid", "ann")).to.deep.include({ plan: "gold" });
  });

  it("are kept by several commits when they are large", async () => {
    await open();
    const bytes = 400_000;
    await Promise.all(Array.from({ length: 12 }, (_, n) => stage.collect([{ _uid: `u${n}` }], { bytes })));
    expect(Math.max(...commits.map((ids) => ids.length))).to.equal(2);
    expect(await stage.counted()).to.equal(12);
  });

  it("are refused when their commit does not begin in time, and are never kept", async () => {
    await open({ deadlineMs: 50 });
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const begun = Array.from({ length: 4 }, (_, n) => stage.collect([{ _uid: `begun ${n}` }]));
    const late = await stage.collect([{ _uid: "late" }]).catch((error: unknown) => error);
    expect(late).to.be.instanceOf(ServiceError);
    expect(late).to.include({ kind: "unavailable", retryAfter: 1 });
    release();
    await Promise.all(begun);
    await stage.collect([{ _uid: "later" }]);
    expect(await stage.read("_uid", "late")).to.equal(undefined);
    expect(await stage.counted()).to.equal(5);
  });
});
