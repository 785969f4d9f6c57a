export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
const units: Readonly<Record<string, number>> = { m: HOUR / 60, h: HOUR, d: DAY, w: 7 * DAY, mo: (365 / 12) * DAY };

/** Length of a duration such as `7d`, ms; of `1mo` the mean. */
export function msOf(duration: string): number {
  return Number.parseInt(duration, 10) * (units[duration.replace(/^\d+/, "")] ?? Number.NaN);
}

const unitWords: Readonly<Record<string, string>> = { m: "minute", h: "hour", d: "day", w: "week", mo: "month" };

/** `30 days` */
export function durationWords(duration: string): string {
  const number = Number.parseInt(duration, 10);
  const unit = unitWords[duration.replace(/^\d+/, "")] ?? duration;
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

/** Formats a duration or an age: `34 s`, `5 min`, `3 h`, `2 d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}
