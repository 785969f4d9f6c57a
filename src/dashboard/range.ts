import { type Address, lengthOf } from "./address.js";
import { HOUR } from "./duration.js";

/** Returns the length of the window in whole hours, as a list takes it: the list compares now with one range before. */
export function rangeOf(address: Address): string {
  return address.from === undefined ? address.range : `${Math.max(1, Math.round(lengthOf(address) / HOUR))}h`;
}
