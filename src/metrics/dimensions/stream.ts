import type { Dimension } from "./dimension.js";
import { HOUR } from "./dimension.js";

/** What the name of a stream must be. */
export const streamNamePattern = "^[A-Za-z0-9_.-]{1,128}$";

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
