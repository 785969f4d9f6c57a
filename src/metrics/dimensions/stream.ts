import type { Dimension } from "./dimension.js";
import { HOUR } from "./dimension.js";

/** Messages received by each data stream, at the top of every hour. */
export const stream: Dimension = {
  name: "stream",
  aliases: [],
  slotMs: HOUR,
  storedTypes: ["size"],
  ratios: {},
  defaultAggregation: "sum",
  due: "end",
};
