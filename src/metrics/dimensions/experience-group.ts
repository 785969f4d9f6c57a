import type { AudienceCounts, Dimension, Sample } from "./dimension.js";
import { experience } from "./experience.js";

/** Reach and conversion of each experience group, every hour: the sums over its experiences. */
export const experienceGroup: Dimension = {
  ...experience,
  name: "experiencegroup",
  sampling: {
    ids: async (audiences) => [...new Set((await audiences.experiences()).flatMap(({ group }) => group ?? []))],
    sample: sampleGroups,
  },
};

async function sampleGroups(audiences: AudienceCounts, groups: ReadonlySet<string>): Promise<Sample[]> {
  const groupOf = new Map<string, string>();
  for (const { id, group } of await audiences.experiences()) {
    if (group !== undefined && groups.has(group)) groupOf.set(id, group);
  }
  const totals = new Map<string, { potential: number; actual: number }>();
  for (const { id, potential, actual } of await audiences.experienceReach(new Set(groupOf.keys()))) {
    const group = groupOf.get(id);
    if (group === undefined) continue;
    const total = totals.get(group) ?? { potential: 0, actual: 0 };
    totals.set(group, { potential: total.potential + potential, actual: total.actual + actual });
  }
  return [...totals].flatMap(([id, total]): Sample[] => [
    { id, type: "potentialreach", value: total.potential },
    { id, type: "actualreach", value: total.actual },
  ]);
}
