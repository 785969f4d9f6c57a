import { type Address, lengthOf } from "./address.js";
import { HOUR } from "./duration.js";

/** The length of the window as a range of a list, in whole hours: a list compares now with one range before. */
export function rangeOf(address: Address): string {
  return address.from === undefined ? address.range : `${Math.max(1, Math.round(lengthOf(address) / HOUR))}h`;
}
