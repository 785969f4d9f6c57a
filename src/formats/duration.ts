const MINUTE = 60_000;

/** The units of a duration, ms. */
const units: Readonly<Record<Duration["unit"], number>> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 1440 * MINUTE,
  w: 7 * 1440 * MINUTE,
};

/** The units of the calendar, months. */
const calendarUnits: Readonly<Record<CalendarSpan["unit"], number>> = { mo: 1, q: 3, y: 12 };

/** Maximum duration: 1,000 years of 365 days, or of 12 months. */
const LONGEST = 365_000 * 1440 * MINUTE;
const MAX_MONTHS = 12_000;

const NUMBER = "[1-9][0-9]{0,8}";

/** Patterns of a duration, a range and an interval, as parts of a regular expression. */
export const durationPattern = `${NUMBER}[mhdw]`;
export const rangePattern = `${NUMBER}(?:mo|[mhdwy])`;
export const intervalPattern = `${NUMBER}(?:mo|[mhdwqy])`;

const DURATION = new RegExp(`^${durationPattern}$`);
const CALENDAR_SPAN = new RegExp(`^(${NUMBER})(mo|q|y)$`);

/** A duration as written, and in ms. */
export interface Duration {
  readonly text: string;
  readonly unit: "m" | "h" | "d" | "w";
  readonly ms: number;
}

/** Months, quarters or years of the calendar, as written and in months. */
export interface CalendarSpan {
  readonly text: string;
  readonly unit: "mo" | "q" | "y";
  readonly months: number;
}

/** Parses `<n><unit>`; undefined if the text is no duration, or longer than 1,000 years. */
export function parseDuration(text: string): Duration | undefined {
  if (!DURATION.test(text)) return undefined;
  const unit = text.at(-1) as Duration["unit"];
  const ms = Number(text.slice(0, -1)) * units[unit];
  return ms > LONGEST ? undefined : { text, unit, ms };
}

/** Parses the length of a window: a duration, months or years. Undefined as for `parseDuration`. */
export function parseRange(text: string): Duration | CalendarSpan | undefined {
  const range = parseInterval(text);
  return range?.unit === "q" ? undefined : range;
}

/** Parses the length of a bucket: a duration, months, quarters or years. Undefined as for `parseDuration`. */
export function parseInterval(text: string): Duration | CalendarSpan | undefined {
  return parseDuration(text) ?? parseCalendarSpan(text);
}

function parseCalendarSpan(text: string): CalendarSpan | undefined {
  const match = CALENDAR_SPAN.exec(text);
  if (match === null) return undefined;
  const unit = match[2] as CalendarSpan["unit"];
  const months = Number(match[1]) * calendarUnits[unit];
  return months > MAX_MONTHS ? undefined : { text, unit, months };
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

/** Formats of a duration, a range and an interval, for error messages. */
export const durationRule = ruleOf("m, h, d or w");
export const rangeRule = ruleOf("m, h, d, w, mo or y");
export const intervalRule = ruleOf("m, h, d, w, mo, q or y");

function ruleOf(units: string): string {
  return `a whole number from 1 with a unit of ${units}, such as 2h`;
}
