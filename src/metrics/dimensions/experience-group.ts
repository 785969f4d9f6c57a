import type { Dimension, Sample } from "./dimension.js";
import { experience } from "./experience.js";

/** Reach and conversion of each experience group, every hour: the sums over its experiences. */
export const experienceGroup: Dimension = {
  ...experience,
  name: "experiencegroup",
  sample: async (census) => {
    const totals = new Map<string, { potential: number; actual: number }>();
    for (const { group, potential, actual } of await census.experienceReach()) {
      if (group === undefined) continue;
      const total = totals.get(group) ?? { potential: 0, actual: 0 };
      totals.set(group, { potential: total.potential + potential, actual: total.actual + actual });
    }
    return [...totals].flatMap(([id, total]): Sample[] => [
      { id, type: "potentialreach", value: total.potential },
      { id, type: "actualreach", value: total.actual },
    ]);
  },
};
