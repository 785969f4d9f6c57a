import { expect } from "chai";
import fc from "fast-check";
import { startService, type TestService } from "../support/service.js";
import { type Change, ExportWorld, type Seen } from "./export-world.js";

const person = fc.nat(5);
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant("collect"), person, count: fc.integer({ min: 1, max: 250 }) }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("merge"), person, other: person }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("erase"), person }) },
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ change, exportsGoOn: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ startExport: person }) },
  { weight: 2, arbitrary: fc.record({ goOn: fc.nat(3) }) },
);

describe("an export during messages, merges and erasures", function () {
  this.timeout(60_000);
  let service: TestService;
  let now = Date.UTC(2026, 0, 5, 10);

  before(async () => {
    service = await startService({}, { clock: () => now });
  });
  after(() => service?.stop());

  it("contains only and all acknowledged data of the profile, and nothing after its deletion", async () => {
    const seen: Seen = { whole: 0, ended: 0 };
    const property = fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      const world = new ExportWorld(service, () => (now += 1_000), seen);
      for (const one of steps) {
        if ("change" in one) await world.change(one.change, one.exportsGoOn);
        else if ("startExport" in one) await world.startExport(one.startExport);
        else await world.goOn(one.goOn);
      }
      await world.finish();
    });
    await fc.assert(property, { seed: 1, numRuns: 20, endOnFailure: true });
    expect(Math.min(seen.whole, seen.ended), JSON.stringify(seen)).to.be.above(0);
  });
});
