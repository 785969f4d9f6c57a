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
  sample: async (census) =>
    (await census.experienceReach()).flatMap(({ id, potential, actual }) => [
      { id, type: "potentialreach", value: potential },
      { id, type: "actualreach", value: actual },
    ]),
};
