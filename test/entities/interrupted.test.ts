import { expect } from "chai";
import { type EntityStage, entityStage, LONG_AGO } from "../support/entity-stage.js";
import { watchedPorts } from "../support/port-calls.js";
import { amount } from "../support/servers.js";

/** Lets a number of port calls through, and none after them: as if the process had died there. */
class Death {
  left = Number.POSITIVE_INFINITY;

  before = async () => {
    this.left -= 1;
    if (this.left < 0) throw new Error("died");
  };
}

const before = [
  { _uid: "known", at: LONG_AGO, x: 1, segments: ["s"] },
  { _uid: "other", at: LONG_AGO, y: 1, segments: ["t"] },
];
const batch = [
  { _uid: "known", at: LONG_AGO + 1, x: 2, segments: { add: ["r"] } },
  { _uid: "new", at: LONG_AGO + 2, z: 2, segments: ["u"] },
  { _uid: "newer", at: LONG_AGO + 3, segments: ["v"] },
  { _uid: ["known", "other"], at: LONG_AGO + 4, w: 2 },
  { _uid: ["new", "newer"], email: "a@x.org", at: LONG_AGO + 5, segments: { add: ["s"], remove: ["u"] } },
];
const ids = batch.map((_, i) => `${i}`.padStart(32, "a"));

describe("a writer that dies", () => {
  let stage: EntityStage;
  let death: Death;

  beforeEach(async () => {
    death = new Death();
    stage = await entityStage((stores) => watchedPorts(stores, death.before));
    for (const message of before) await stage.collect([message]);
  });
  afterEach(() => stage.close());

  const seen = async () => [
    await Promise.all(["known", "other", "new", "newer"].map((value) => stage.read("_uid", value))),
    await stage.stores.memberships.sizes(["r", "s", "t", "u", "v"]),
    await stage.counted(),
  ];

  const expected = [
    { _uid: ["known", "other"], at: LONG_AGO + 4, x: 2, y: 1, w: 2, segments: ["r", "s", "t"] },
    { _uid: ["new", "newer"], email: "a@x.org", at: LONG_AGO + 5, z: 2, segments: ["s", "v"] },
  ];
  const whole = [[expected[0], expected[0], expected[1], expected[1]], [1, 2, 1, 0, 1], before.length + batch.length];

  /** Port calls that the batch takes when nothing goes wrong. */
  async function callsOfBatch(): Promise<number> {
    death.left = 1000;
    await stage.collect(batch, { ids });
    return 1000 - death.left;
  }

  it("is not there: everything is applied and counted", async () => {
    expect(await callsOfBatch()).to.be.below(40);
    expect(await seen()).to.deep.equal(whole);
  });

  it("leaves nothing half done, wherever it died, and all of it is done once its messages are sent again", async () => {
    const calls = await callsOfBatch();
    for (let at = 0; at < calls; at += amount(1, 4)) {
      await stage.close();
      death = new Death();
      stage = await entityStage((stores) => watchedPorts(stores, death.before));
      for (const message of before) await stage.collect([message]);
      const untouched = await seen();
      death.left = at;
      const error = await stage.collect(batch, { ids }).catch((reason: Error) => reason.message);
      expect(error, `call ${at}`).to.equal("died");
      death.left = Number.POSITIVE_INFINITY;
      expect(await seen(), `call ${at}`).to.deep.equal(untouched);
      for (let times = 0; times < 2; times += 1) {
        await stage.collect(batch, { ids });
        expect(await seen(), `call ${at}, sent again`).to.deep.equal(whole);
      }
    }
  });
});
