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

/** What a stream may be called, as a regular expression. */
export const streamNamePattern = "^[A-Za-z0-9_.-]{1,128}$";
