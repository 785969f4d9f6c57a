import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { DamagedData } from "../../src/errors.js";
import { type EntityStage, entityStage } from "../support/entity-stage.js";

describe("messages of concurrent requests", () => {
  let stage: EntityStage;
  let commits: string[][];
  let hold: Promise<void>;

  async function open(): Promise<void> {
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
    stage = await entityStage(wrap);
  }

  const newId = () => randomBytes(16).toString("hex");

  it("are stored once if several of them have the same id", async () => {
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

  it("are counted as taken once, also if they are repeated, and not if they are refused", async () => {
    let taken = 0;
    stage = await entityStage(() => ({
      countTaken(messages) {
        taken += messages;
      },
    }));
    const ids = [newId(), newId()];
    const messages = [{ _uid: "ann" }, { _uid: "ben", bytes: "x".repeat(1_048_576) }];
    const refused = [await stage.collect(messages, { ids }), await stage.collect(messages, { ids })];
    expect(refused).to.deep.equal([["entity_too_large"], ["entity_too_large"]]);
    await Promise.all([1, 2].map(() => stage.collect([{ _uid: "cleo" }], { ids: [newId()] })));
    expect(taken).to.equal(3);
  });

  it("are stored in several commits if they are large", async () => {
    await open();
    const bytes = 400_000;
    await Promise.all(Array.from({ length: 12 }, (_, n) => stage.collect([{ _uid: `u${n}` }], { bytes })));
    expect(Math.max(...commits.map((ids) => ids.length))).to.equal(2);
    expect(await stage.counted()).to.equal(12);
  });

  const damages = {
    "its profile is altered": (sealed: Uint8Array | undefined) => sealed?.fill(0, 20),
    "a page of its profile is damaged": () => {
      throw new DamagedData(undefined);
    },
  };
  for (const [reason, damage] of Object.entries(damages))
    it(`are stored also if one of them fails, as ${reason}`, async () => {
      stage = await entityStage(({ entities }) => ({
        entities: {
          ...entities,
          async find(hashes, maxBytes) {
            const found = await entities.find(hashes, maxBytes);
            const ann = found.owners.get(stage.hashIdentity("user", { field: "_uid", value: "ann" }));
            if (ann !== undefined) damage(found.profiles.get(ann)?.sealed);
            return found;
          },
        },
      }));
      await stage.collect([{ _uid: "ann" }]);
      // The first four commits hold back the rest, which become one group.
      const others = Array.from({ length: 4 }, (_, n) => stage.collect([{ _uid: `other ${n}` }]));
      const failed = stage.collect([{ _uid: "ann" }]).catch((error: unknown) => error);
      await Promise.all([...others, stage.collect([{ _uid: "ben" }])]);
      expect(await failed).to.be.instanceOf(Error);
      expect(await stage.counted()).to.equal(6);
    });

  it("are never stored if their request ends before their commit begins", async () => {
    await open();
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const begun = Array.from({ length: 4 }, (_, n) => stage.collect([{ _uid: `begun ${n}` }]));
    const late = new AbortController();
    const givenUp = stage.collect([{ _uid: "late" }], { late: late.signal }).catch((error: unknown) => error);
    const other = stage.collect([{ _uid: "other" }]);
    late.abort(new Error("took too long"));
    release();
    await Promise.all([...begun, other]);
    expect(await givenUp).to.include({ message: "took too long" });
    expect(await stage.read("_uid", "late")).to.equal(undefined);
    expect(await stage.counted()).to.equal(5);
  });
});
