import { expect } from "chai";
import { audienceCounts } from "../../src/catalogue/audience-counts.js";
import type { SegmentMembers } from "../../src/catalogue/ports.js";
import { type AudienceCounts, dimensionNamed } from "../../src/metrics/dimensions.js";
import type { Stores } from "../../src/stores/stores.js";
import { join } from "../metrics/recorder-fixture.js";
import { commitOf } from "../support/commits.js";
import { temporaryStores } from "../support/stores.js";

describe("the catalogue", () => {
  let stores: Stores;
  let audiences: AudienceCounts;
  beforeEach(async () => {
    stores = await temporaryStores();
    audiences = audienceCounts(stores.catalogue, stores.memberships);
  });

  /** Registers segments like messages do that name them. */
  const register = (ids: readonly string[]) =>
    stores.entities.commit(commitOf([], { segments: ids.map((id) => ({ id, table: "user" })) }));

  it("counts the members of more segments than one page contains", async () => {
    const ids = Array.from({ length: 2_345 }, (_, index) => `s${String(index).padStart(4, "0")}`);
    await register(ids);
    await join(stores, "s0007", ["a", "b"]);
    await join(stores, "s2344", ["a"]);
    await join(stores, "not in the catalogue", ["a"]);
    expect(await audiences.segments()).to.deep.equal(ids);
    const sizes = await audiences.segmentSizes(new Set([...ids, "not in the catalogue"]));
    expect(sizes.map(({ id }) => id)).to.deep.equal(ids);
    expect(sizes.filter(({ members }) => members > 0)).to.deep.equal([
      { id: "s0007", members: 2 },
      { id: "s2344", members: 1 },
    ]);
    expect(await audiences.segmentSizes(new Set(["s0007"]))).to.deep.equal([{ id: "s0007", members: 2 }]);
  });

  it("leaves out what depends on a segment that is computing, or changes concurrently", async () => {
    const { catalogue, memberships } = stores;
    await register(["pushed"]);
    const rule = (id: string, names: string[], at = 1) => ({ id, name: id, table: "user", rule: { at }, names });
    const putRule = async (...args: Parameters<typeof rule>) =>
      catalogue.putRule(rule(...args), (await catalogue.rules()).generation, 1);
    const settle = async (id: string) => {
      const byRule = (await catalogue.segmentsById([id])).get(id)?.byRule ?? { change: 0 };
      await catalogue.setComputing(id, byRule, undefined);
    };
    await putRule("below", []);
    await putRule("above", ["below", "pushed"]);
    await settle("above");
    const put = (id: string, audience: string, goal: string) =>
      catalogue.putExperience({ id, name: id, audience, goal, group: "g" });
    await put("settled", "pushed", "pushed");
    await put("computing", "pushed", "above");
    const counted = async (over = audiences) => [
      (await over.segmentSizes(new Set(["above", "below", "pushed"]))).map(({ id }) => id),
      (await over.experienceReach(new Set(["computing", "settled"]))).map(({ id }) => id),
      (await dimensionNamed("experiencegroup")?.sampling?.sample(over, new Set(["g"])))?.map(({ type }) => type),
    ];
    expect(await counted()).to.deep.equal([["pushed"], ["settled"], []]);
    await settle("below");
    const groups = ["potentialreach", "actualreach"];
    expect(await counted()).to.deep.equal([["above", "below", "pushed"], ["computing", "settled"], groups]);
    const changing: SegmentMembers = {
      ...memberships,
      async sizes(segments) {
        await putRule("below", [], Math.random());
        await settle("below");
        return memberships.sizes(segments);
      },
    };
    expect((await counted(audienceCounts(catalogue, changing)))[0]).to.deep.equal(["pushed"]);
  });

  it("counts the audience of an experience, and its members who reached the goal", async () => {
    await register(["seen", "bought", "empty"]);
    await join(stores, "seen", ["a", "b", "c"]);
    await join(stores, "bought", ["c", "d"]);
    const put = (id: string, audience: string, goal: string, group?: string) =>
      stores.catalogue.putExperience({ id, name: id, audience, goal, ...(group === undefined ? {} : { group }) });
    await put("both", "seen", "bought", "g");
    await put("none", "empty", "bought");
    await put("same", "seen", "seen", "g");
    expect(await audiences.experiences()).to.deep.equal([
      { id: "both", group: "g" },
      { id: "none", group: undefined },
      { id: "same", group: "g" },
    ]);
    expect(await audiences.experienceReach(new Set(["same", "both", "none", "unknown"]))).to.deep.equal([
      { id: "both", potential: 3, actual: 1 },
      { id: "none", potential: 0, actual: 0 },
      { id: "same", potential: 3, actual: 3 },
    ]);
  });
});
