import type { Address } from "./address.js";
import { durationWords } from "./duration.js";
import type { Zone } from "./format.js";
import { gridOf } from "./time-window.js";

interface Ranged {
  readonly address: Pick<Address, "range" | "from" | "to">;
  readonly zone: Zone;
}

/** The range as a name: `Last 7 days`, `October 2026`. */
export function rangeName(ranged: Ranged): string {
  return ranged.address.from === undefined ? `Last ${rangeWords(ranged)}` : rangeWords(ranged);
}

/** The range in a phrase, after "in": `7 days`, `October 2026`, `1 – 15 Oct 2026`. */
export function rangeWords({ address: { range, from, to }, zone }: Ranged): string {
  return from === undefined || to === undefined ? durationWords(range) : windowName({ from, to }, zone);
}

const month = { month: "long", year: "numeric" } as const;
const day = { day: "numeric", month: "short", year: "numeric" } as const;
const minute = { ...day, hour: "2-digit", minute: "2-digit" } as const;

/** A window [from, to), Unix ms, by its months, its days or its times in the zone of the page. */
export function windowName({ from, to }: { readonly from: number; readonly to: number }, zone: Zone): string {
  const isWhole = (interval: string) => {
    const grid = gridOf(interval, zone);
    return grid.startOf(from) === from && grid.startOf(to) === to;
  };
  const options = isWhole("1mo") ? month : isWhole("1d") ? day : minute;
  const timeZone = zone === "UTC" ? { timeZone: "UTC" } : {};
  const format = new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...timeZone, ...options });
  return format.formatRange(from, options === minute ? to : to - 1);
}
