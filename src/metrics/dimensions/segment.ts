import { EVERY_SEGMENT } from "../../names.js";
import type { Dimension } from "./dimension.js";
import { HOUR } from "./dimension.js";

/** Members of each segment, every 2 hours. */
export const segment: Dimension = {
  name: "segment",
  aliases: ["segsize"],
  slotMs: 2 * HOUR,
  storedTypes: ["size"],
  ratios: {},
  defaultAggregation: "max",
  everyId: EVERY_SEGMENT,
  due: "start",
  sampling: {
    ids: (audiences) => audiences.segments(),
    sample: async (audiences, ids) =>
      (await audiences.segmentSizes(ids)).map(({ id, members }) => ({ id, type: "size", value: members })),
  },
};
