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
    ids: async (audiences) => (await audiences.experiences()).map(({ id }) => id),
    sample: async (audiences, ids) =>
      (await audiences.experienceReach(ids)).flatMap(({ id, potential, actual }) => [
        { id, type: "potentialreach", value: potential },
        { id, type: "actualreach", value: actual },
      ]),
  },
};
