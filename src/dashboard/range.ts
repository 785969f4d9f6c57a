import type { Address } from "./address.js";
import { HOUR } from "./duration.js";

/** Returns the length of the window in whole hours, as a list takes it: the list compares now with one range before. */
export function rangeOf(address: Address): string {
  const { from, to, range } = address;
  return from === undefined || to === undefined ? range : `${Math.max(1, Math.round((to - from) / HOUR))}h`;
}
