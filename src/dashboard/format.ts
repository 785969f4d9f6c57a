import type { Aggregation } from "../client/client.js";
import { typeOf, typesOf, typeWithUnit } from "./dimensions.js";
import { DAY, HOUR } from "./duration.js";
import { type Zone, zoneName } from "./zone.js";

export type { Zone };

const formats = new Map<string, Intl.DateTimeFormat>();
function shown(ms: number, zone: Zone, options: Intl.DateTimeFormatOptions): string {
  const key = `${zone} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", {
      hourCycle: "h23",
      ...(zone === "UTC" ? { timeZone: "UTC" } : {}),
      ...options,
    });
    formats.set(key, format);
  }
  return format.format(ms);
}

const clock = { hour: "2-digit", minute: "2-digit" } as const;
/** `21:52` */
export const clockTime = (ms: number, zone: Zone) => shown(ms, zone, clock);
/** `21 Nov` */
export const dayOf = (ms: number, zone: Zone) => shown(ms, zone, { day: "numeric", month: "short" });
/** `Mon 23 Nov` */
export const weekday = (ms: number, zone: Zone) =>
  shown(ms, zone, { weekday: "short", day: "numeric", month: "short" }).replace(",", "");
/** `21 Nov 2026` */
const dayOfYear = (ms: number, zone: Zone) => shown(ms, zone, { day: "numeric", month: "short", year: "numeric" });
/** The shortest text that tells a time from now: `06:29` today, `21 Nov` this year, `21 Nov 2025`. */
export function shortTime(ms: number, now: number, zone: Zone): string {
  const [day, today] = [dayOfYear(ms, zone), dayOfYear(now, zone)];
  if (day === today) return clockTime(ms, zone);
  return day.slice(-4) === today.slice(-4) ? dayOf(ms, zone) : day;
}
/** `21 Nov 2026, 21:52 UTC` */
export const fullTime = (ms: number, zone: Zone) =>
  `${shown(ms, zone, { day: "numeric", month: "short", year: "numeric", ...clock })} ${zoneName(zone)}`;

/**
 * `Mon 23 Nov, 14:00–16:00 UTC`, `Mon 23 Nov UTC`, or `Mon 23 Nov – Sun 29 Nov UTC`. A day that does not begin at
 * midnight in the zone of the page is named by its start and end.
 */
export function bucketLabel(ts: number, end: number, zone: Zone): string {
  const [first, last] = [weekday(ts, zone), weekday(end - HOUR, zone)];
  const isWhole = clockTime(ts, zone) === "00:00" && clockTime(end, zone) === "00:00";
  if (isWhole) return first === last ? `${first} ${zoneName(zone)}` : `${first} – ${last} ${zoneName(zone)}`;
  if (end - ts < DAY) return `${first}, ${clockTime(ts, zone)}–${clockTime(end, zone)} ${zoneName(zone)}`;
  return `${first}, ${clockTime(ts, zone)} – ${weekday(end, zone)}, ${clockTime(end, zone)} ${zoneName(zone)}`;
}

/** Name of the unit of the values of a series: see `ValueType`. */
export type Unit = string;

/** Returns the unit of a series; for an unknown type, the unit of its dimension. */
export const unitOf = (dimension: string, type: string): Unit =>
  (typeOf(dimension, type) ?? typesOf(dimension)[0])?.unit.name ?? "values";

/** Whether values of the unit are counted in their slot, so that their sum has a meaning. */
export const isCounted = (unit: Unit) => typeWithUnit(unit)?.isCounted ?? false;

/** The aggregations that a reader can choose, with their names in titles of charts. */
export const aggregationTitles: Readonly<Record<Aggregation, string>> = { sum: "sum", max: "largest", min: "smallest" };

/** Unit and bucket of a chart: `Messages` and `per hour`, `Members` and `largest of each 2 hours`. */
export function chartTitle(unit: Unit, aggregation: Aggregation, interval: string): { title: string; bucket: string } {
  const length = intervalWords(interval);
  const title = typeWithUnit(unit)?.unit.title ?? "Values";
  if (unit === "rate") return { title, bucket: `of each ${length}` };
  if (isCounted(unit) && aggregation === "sum") return { title, bucket: `per ${length}` };
  return { title, bucket: `${aggregationTitles[aggregation]} of each ${length}` };
}

const words: Readonly<Record<string, string>> = { h: "hour", d: "day", w: "week", mo: "month" };
function intervalWords(interval: string): string {
  const count = Number.parseInt(interval, 10);
  const word = words[interval.replace(/^\d+/, "")] ?? interval;
  return count === 1 ? word : `${count} ${word}s`;
}

/** A number that is rounded to 0 has no sign. */
const signDisplay = "negative";
const whole = new Intl.NumberFormat("en", { signDisplay, maximumFractionDigits: 0 });
const decimal = new Intl.NumberFormat("en", { signDisplay, maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en", { signDisplay, maximumFractionDigits: 1 });

/** Values nearer to 0 have as many decimals as they need: a small value is not written as 0. */
const SMALL = 0.01;
const small = new Intl.NumberFormat("en", { signDisplay, maximumSignificantDigits: 3 });
const plain = (value: number) => withMinus((Math.abs(value) < SMALL ? small : decimal).format(value));

/** Numbers have a minus, which is as wide as a plus, and not a hyphen. */
const withMinus = (text: string) => text.replace("-", "−");

/** A value of a unit: `12,345`, `18.9 %`, `0.000000001`. */
export const amount = (value: number, unit: Unit) =>
  unit === "rate" ? withMinus(`${tenths.format(value * 100)} %`) : plain(value);

export const count = (value: number) => withMinus(whole.format(value));

/**
 * A number of at most six digits, or its short form: `999,999`, `1.23 M`, `45.6 bn`, `1.08 × 10¹⁵`. A larger number of
 * a table never makes its column wider.
 */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size < 999_999.5) return plain(value);
  const [scaled, unit] = size < 999_500_000 ? [value / 1e6, "M"] : [value / 1e9, "bn"];
  if (size < 999_500_000_000) return withMinus(`${digits.format(scaled)}\u00a0${unit}`);
  const [mantissa = "", exponent = ""] = value.toExponential(2).split("e+");
  return `${withMinus(digits.format(Number(mantissa)))} × 10${exponent.replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? "")}`;
}

const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A value of a unit in its short form: `1.23 M`, `18.9 %`. Its full form is `amount`. */
export const shortAmount = (value: number, unit: Unit) => (unit === "rate" ? amount(value, unit) : shortNumber(value));

type NumberText = (value: number) => string;

/** A change of a figure, rounded before its sign is chosen. */
export interface Change {
  /** `+79`, of a rate `−0.6 pp` */
  readonly by: string;
  /** `+15 %`, or `from 0`; undefined where it has no meaning. */
  readonly share: string | undefined;
}

/** Returns the absolute and the relative change; undefined without both values. */
export function changeIn(
  now: number | null | undefined,
  before: number | null | undefined,
  unit: Unit,
  text: NumberText = plain,
): Change | undefined {
  if (now == null || before == null) return undefined;
  const by = difference(now, before, unit, text);
  if (before === 0 && now !== 0) return { by, share: "from 0" };
  return { by, share: unit === "rate" && by === "0 pp" ? undefined : relative(now, before, text) };
}

/** Absolute and relative change: `+79, +15 %`, of a rate `+5 pp, +25 %`; `+5, from 0`. */
export function change(now: number | null | undefined, before: number | null | undefined, unit: Unit): string {
  const found = changeIn(now, before, unit);
  if (found === undefined) return "–";
  return found.share === undefined ? found.by : `${found.by}, ${found.share}`;
}

function difference(now: number, before: number, unit: Unit, text: NumberText): string {
  const by = unit === "rate" ? (now - before) * 100 : now - before;
  // Small quantities have small changes.
  const isSmall = unit !== "rate" && Math.max(Math.abs(now), Math.abs(before)) < 1;
  const rounded = isSmall ? Number(by.toPrecision(3)) : Math.round(by * 10) / 10;
  const shown = `${signOf(rounded)}${text(Math.abs(rounded))}`;
  return unit === "rate" ? `${shown} pp` : shown;
}

/**
 * A relative change of a quantity, rounded before its sign is chosen: `+15 %`; undefined where it has no meaning. Only
 * an exact change of 100 % is written as one.
 */
export function relative(now: number, before: number, text: NumberText = plain): string | undefined {
  if (before === 0) return undefined;
  const by = ((now - before) / Math.abs(before)) * 100;
  const size = Math.abs(by);
  let rounded = size < 10 ? Math.round(size * 10) / 10 : Math.round(size);
  if (rounded === 100 && size !== 100) rounded = size < 100 ? Math.floor(size * 10) / 10 : Math.ceil(size * 10) / 10;
  return `${rounded === 0 ? "" : signOf(by)}${text(rounded)} %`;
}

const signOf = (rounded: number) => (rounded > 0 ? "+" : rounded < 0 ? "−" : "");
