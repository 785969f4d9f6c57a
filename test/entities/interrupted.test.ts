import { expect } from "chai";
import { type EntityStage, entityStage, LONG_AGO, PROFILE_PORTS } from "../support/entity-stage.js";
import { HeldCalls, portsThrough } from "../support/held-calls.js";
import { amount } from "../support/servers.js";

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
  let calls: HeldCalls;

  beforeEach(async () => {
    calls = new HeldCalls();
    stage = await entityStage((stores) => portsThrough(stores, PROFILE_PORTS, calls.around));
    for (const message of before) await stage.collect([message]);
  });

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
    const earlier = calls.count;
    await stage.collect(batch, { ids });
    return calls.count - earlier;
  }

  it("stores nothing of its batch, at whichever call it dies, and the repeated batch is applied once", async () => {
    const length = await callsOfBatch();
    expect(await seen()).to.deep.equal(whole);
    for (let at = 0; at < length; at += amount(1, 4)) {
      await stage.close();
      calls = new HeldCalls();
      stage = await entityStage((stores) => portsThrough(stores, PROFILE_PORTS, calls.around));
      for (const message of before) await stage.collect([message]);
      const untouched = await seen();
      calls.die(at);
      const error = await stage.collect(batch, { ids }).catch((reason: Error) => reason.message);
      expect(error, `call ${at}`).to.equal("The process is dead");
      calls.revive();
      expect(await seen(), `call ${at}`).to.deep.equal(untouched);
      for (let times = 0; times < 2; times += 1) {
        await stage.collect(batch, { ids });
        expect(await seen(), `call ${at}, sent again`).to.deep.equal(whole);
      }
    }
  });
});
