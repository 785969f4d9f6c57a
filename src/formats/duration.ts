const MINUTE = 60_000;

/** The units of a duration, ms. */
const units: Readonly<Record<Duration["unit"], number>> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 1440 * MINUTE,
  w: 7 * 1440 * MINUTE,
};

/** The longest duration that is understood: 1,000 years of 365 days. */
const LONGEST = 365_000 * 1440 * MINUTE;

/** What a duration looks like, as a part of a regular expression. */
export const durationPattern = "[1-9][0-9]{0,8}[mhdw]";

const DURATION = new RegExp(`^${durationPattern}$`);

/** A length of time as it was written, and in ms. */
export interface Duration {
  readonly text: string;
  readonly unit: "m" | "h" | "d" | "w";
  readonly ms: number;
}

/** The duration that `<n><unit>` stands for, or undefined when the text is no duration, or one longer than 1,000 years. */
export function parseDuration(text: string): Duration | undefined {
  if (!DURATION.test(text)) return undefined;
  const unit = text.at(-1) as Duration["unit"];
  const ms = Number(text.slice(0, -1)) * units[unit];
  return ms > LONGEST ? undefined : { text, unit, ms };
}

/** How long something is kept, ms: a setting that has been checked; undefined for `null`, which is for ever. */
export function keepMs(setting: string | null): number | undefined {
  return setting === null ? undefined : parseDuration(setting)?.ms;
}

/** The shorter of two lengths of time, ms; undefined is for ever. */
export function shorterOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** A length of time in the largest of days, hours and minutes that divides it, rounded up to the minute. */
export function formatDuration(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE);
  if (minutes % 1440 === 0) return `${minutes / 1440}d`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}

/** What a duration looks like, in words for error messages. */
export const durationRule = "A whole number from 1 and a unit of m, h, d or w, such as 2h";
