const HOUR = 3_600_000;
const units: Readonly<Record<string, number>> = { m: HOUR / 60, h: HOUR, d: 24 * HOUR, w: 168 * HOUR };

/** ms of a duration such as `7d`. */
export function msOf(duration: string): number {
  return Number(duration.slice(0, -1)) * (units[duration.slice(-1)] ?? Number.NaN);
}

/** Whether times are shown as UTC or as the browser's. */
let local = false;
export function showLocalTime(on: boolean): void {
  local = on;
}
export const zone = () => (local ? "local" : "UTC");

const formats = new Map<string, Intl.DateTimeFormat>();
function shown(ms: number, options: Intl.DateTimeFormatOptions): string {
  const key = `${local} ${JSON.stringify(options)}`;
  const format =
    formats.get(key) ??
    new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...(local ? {} : { timeZone: "UTC" }), ...options });
  formats.set(key, format);
  return format.format(ms);
}

/** `21:52` */
export const clockTime = (ms: number) => shown(ms, { hour: "2-digit", minute: "2-digit" });
/** `21 Nov` */
export const dayOf = (ms: number) => shown(ms, { day: "2-digit", month: "short" });
/** `21 Nov 2026, 21:52 UTC` */
export const fullTime = (ms: number) =>
  `${shown(ms, { day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" })} ${zone()}`;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

export type Unit = "people" | "messages" | "%";

export const unitOf = (dimension: string, type: string): Unit =>
  type === "conversionrate" ? "%" : dimension === "stream" ? "messages" : "people";

/** A value with its unit where that is more than a number. */
export const amount = (value: number, unit: Unit) => (unit === "%" ? percent : whole).format(value);

/** How a value has changed: `+12`, `−0.6 pp`; an en dash where one of both is not known. */
export function change(now: number | undefined, before: number | undefined, unit: Unit): string {
  if (now === undefined || before === undefined) return "–";
  const by = unit === "%" ? (now - before) * 100 : now - before;
  const sign = by > 0 ? "+" : by < 0 ? "−" : "±";
  return `${sign}${whole.format(Math.abs(Math.round(by * 10) / 10))}${unit === "%" ? " pp" : ""}`;
}

/** How an amount compares with the one before: `+4 %`; an en dash where there was none. */
export const against = (now: number, before: number) =>
  before === 0 ? "–" : change(now / before, 1, "%").replace("pp", "%");

/** How long ago, or how long it takes: `34 s`, `5 min`, `3 h`, `2 d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}
