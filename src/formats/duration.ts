const MINUTE = 60_000;

/** The units of a duration, ms. */
const units: Readonly<Record<Duration["unit"], number>> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 1440 * MINUTE,
  w: 7 * 1440 * MINUTE,
};

/** Maximum duration: 1,000 years of 365 days. */
const LONGEST = 365_000 * 1440 * MINUTE;

/** Pattern of a duration, as a part of a regular expression. */
export const durationPattern = "[1-9][0-9]{0,8}[mhdw]";

const DURATION = new RegExp(`^${durationPattern}$`);

/** A duration as written, and in ms. */
export interface Duration {
  readonly text: string;
  readonly unit: "m" | "h" | "d" | "w";
  readonly ms: number;
}

/** Parses `<n><unit>`; undefined if the text is no duration, or longer than 1,000 years. */
export function parseDuration(text: string): Duration | undefined {
  if (!DURATION.test(text)) return undefined;
  const unit = text.at(-1) as Duration["unit"];
  const ms = Number(text.slice(0, -1)) * units[unit];
  return ms > LONGEST ? undefined : { text, unit, ms };
}

/** Returns a checked setting of a duration, ms. */
export function durationMs(setting: string): number {
  return (parseDuration(setting) as Duration).ms;
}

/** Returns a checked setting of a retention, ms; undefined (unlimited) for `null`. */
export function retentionMs(setting: string | null): number | undefined {
  return setting === null ? undefined : durationMs(setting);
}

/** Returns the shorter of a fixed duration and a variable one at each call, ms; undefined is unlimited. */
export function shorterOf(
  fixed: number | undefined,
  variable: () => number | undefined = () => undefined,
): () => number | undefined {
  return () => {
    const current = variable();
    return fixed === undefined || current === undefined ? (fixed ?? current) : Math.min(fixed, current);
  };
}

/** Formats a duration in the largest of days, hours and minutes that divides it, rounded up to the minute. */
export function formatDuration(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE);
  if (minutes % 1440 === 0) return `${minutes / 1440}d`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}

/** Format of a duration, for error messages. */
export const durationRule = "a whole number from 1 with a unit of m, h, d or w, such as 2h";
