import type { Dimension } from "./dimension.js";
import { HOUR } from "./dimension.js";

/** Reach and conversion of each experience, every hour. */
export const experience: Dimension = {
  name: "experience",
  aliases: [],
  slotMs: HOUR,
  storedTypes: ["size", "potentialreach", "actualreach", "converted"],
  ratios: { conversionrate: ["actualreach", "potentialreach"] },
  defaultAggregation: "max",
  due: "start",
  sampling: {
    ids: async (census) => (await census.experiences()).map(({ id }) => id),
    sample: async (census, ids) =>
      (await census.experienceReach(ids)).flatMap(({ id, potential, actual }) => [
        { id, type: "potentialreach", value: potential },
        { id, type: "actualreach", value: actual },
      ]),
  },
};
