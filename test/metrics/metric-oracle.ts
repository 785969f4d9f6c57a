import { type LocalDay, localDays } from "../support/local-days.js";

/**
 * A second implementation of metric responses, slow and obvious: it walks over every bucket and every point, and shares
 * no code with the service. Times are Unix ms.
 */

export interface OraclePoint {
  readonly dimension: string;
  readonly dimension_id: string;
  readonly dimension_type: string;
  readonly ts: number;
  readonly value: number;
}

export interface OracleRequest {
  readonly dimension: string;
  readonly dimension_id: string;
  readonly dimension_type: string;
  readonly aggregation?: string;
  readonly interval?: string;
  readonly timezone?: string;
  readonly range?: string;
  readonly startdate?: string | number;
  readonly enddate?: string | number;
  readonly include_empty_rows?: boolean;
  readonly smooth?: boolean;
}

interface OracleAnswer {
  readonly aggregation: string;
  readonly interval: string;
  readonly range: string;
  readonly values: { readonly value: number; readonly ts: string }[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEKS_START = Date.parse("1970-01-05T00:00:00Z");

/** The response at `now` to all points in the order of writing; "refused" for a window that ends before it starts. */
export function oracle(points: readonly OraclePoint[], request: OracleRequest, now: number): OracleAnswer | "refused" {
  const dimension = request.dimension === "segsize" ? "segment" : request.dimension;
  const slot = dimension === "segment" ? 2 * HOUR : HOUR;
  const interval = request.interval ?? "2h";
  const zone = request.timezone ?? "UTC";
  const { floor, following } = bucketsOf(interval, zone);

  // The window.
  let to = now;
  let from: number;
  let range: string;
  if (request.range !== undefined) {
    range = request.range.replace("now-", "");
    from = floor(back(now, range, zone));
  } else {
    if (request.enddate !== undefined) to = instantOf(request.enddate, now, zone);
    const relative = request.startdate === undefined || String(request.startdate).startsWith("now");
    const start = request.startdate === undefined ? to - 2 * DAY : instantOf(request.startdate, now, zone);
    if (start > to) return "refused";
    from = start === to ? to : relative ? floor(start) : start;
    const ownLength = request.startdate === undefined ? "2d" : String(request.startdate).replace("now-", "");
    const isOwn = request.enddate === undefined && relative && request.startdate !== "now";
    range = isOwn ? ownLength : inWords(to - from);
  }

  // The last value of each slot.
  const saved = (type: string) => {
    const slots = new Map<number, number>();
    for (const point of points) {
      if (point.dimension !== dimension || point.dimension_id !== request.dimension_id || point.dimension_type !== type)
        continue;
      slots.set(point.ts - (((point.ts % slot) + slot) % slot), point.value);
    }
    return [...slots].sort(([a], [b]) => a - b);
  };
  const aggregation = request.aggregation ?? (dimension === "stream" ? "sum" : "max");
  const combined = (slots: [number, number][], start: number, low: number) => {
    const next = following(start);
    const values = slots.filter(([ts]) => ts >= start && ts < next && ts >= low && ts < to).map(([, value]) => value);
    if (values.length === 0) return undefined;
    if (aggregation === "max") return Math.max(...values);
    if (aggregation === "min") return Math.min(...values);
    return values.reduce((sum, value) => sum + value);
  };
  const isRate = request.dimension_type === "conversionrate";
  const first = saved(isRate ? "actualreach" : request.dimension_type);
  const second = isRate ? saved("potentialreach") : [];
  const bucketValue = (start: number, low: number): number | undefined => {
    let value = combined(first, start, low);
    if (isRate) {
      const potential = combined(second, start, low);
      value = potential === undefined || potential === 0 ? undefined : (value ?? 0) / potential;
    }
    if (value === undefined && request.include_empty_rows === true) {
      const slotOfStart = start - (((start % slot) + slot) % slot);
      const next = slotOfStart + slot;
      const first = slotOfStart < start && next < following(start) ? next : slotOfStart;
      const due = dimension === "stream" ? first + slot : first;
      if (start < now && due <= now) return 0;
    }
    return value;
  };

  // Bucket by bucket.
  const values: { value: number; ts: string }[] = [];
  for (let start = floor(from); start < to && from < to; start = following(start)) {
    const own = bucketValue(start, from);
    if (own === undefined) continue;
    let value = own;
    if (request.smooth === true) {
      const group: number[] = [];
      const previous = floor(start - 1);
      for (const neighbour of [floor(previous - 1), previous]) {
        // A bucket that ended before the window is whole; one inside of it is as the answer has it.
        const other = bucketValue(neighbour, neighbour < floor(from) ? Number.NEGATIVE_INFINITY : from);
        if (other !== undefined) group.push(other);
      }
      group.push(own);
      value = group.reduce((sum, each) => sum + each, 0) / group.length;
    }
    values.push({ value: value + 0, ts: String(start) });
  }
  return { aggregation, interval, range, values };
}

/** Functions that return the start of the bucket of an instant, and the start of the bucket after it. */
function bucketsOf(interval: string, zone: string) {
  const [, n, unit] = /^(\d+)([a-z]+)$/.exec(interval) as unknown as [string, string, string];
  if (unit === "m" || unit === "h") {
    const floor = (ms: number) => Math.floor(ms / lengthOf(interval)) * lengthOf(interval);
    return { floor, following: (ms: number) => floor(ms) + lengthOf(interval) };
  }
  const bucketOf = (date: number) => {
    if (unit === "d") return Math.floor(date / Number(n));
    if (unit === "w") return Math.floor((date - WEEKS_START / DAY) / 7 / Number(n));
    const day = new Date(date * DAY);
    const month = (day.getUTCFullYear() - 1970) * 12 + day.getUTCMonth();
    return Math.floor(month / ({ mo: 1, q: 3, y: 12 }[unit] as number) / Number(n));
  };
  const days = daysOf(zone);
  const edgeFrom = (ms: number, direction: -1 | 1) => {
    let i = dayAt(days, ms);
    const bucket = bucketOf((days[i] as LocalDay).date);
    while (bucketOf((days[i + direction] as LocalDay).date) === bucket) i += direction;
    return (days[direction === 1 ? i + 1 : i] as LocalDay).start;
  };
  return { floor: (ms: number) => edgeFrom(ms, -1), following: (ms: number) => edgeFrom(ms, 1) };
}

const known = new Map<string, readonly LocalDay[]>();

/** The days of a zone around the instants of the test. */
function daysOf(zone: string): readonly LocalDay[] {
  const days = known.get(zone) ?? localDays(zone, Date.UTC(1999, 11, 30), Date.UTC(2032, 0, 3));
  known.set(zone, days);
  return days;
}

function dayAt(days: readonly LocalDay[], ms: number): number {
  let [low, high] = [0, days.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((days[middle] as LocalDay).start <= ms) low = middle;
    else high = middle;
  }
  return low;
}

/** The instant a range before `now`; months and years before at the same time of the clock. */
function back(now: number, range: string, zone: string): number {
  if (!/(?:mo|y)$/.test(range)) return now - lengthOf(range);
  const months = Number.parseInt(range, 10) * (range.endsWith("y") ? 12 : 1);
  const clock = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  const text = clock.format(now);
  const [year, month, day] = text.slice(0, 10).split("-").map(Number) as [number, number, number];
  const lastDay = new Date(Date.UTC(year, month - months, 0)).getUTCDate();
  const wanted = new Date(Date.UTC(year, month - 1 - months, Math.min(day, lastDay))).toISOString().slice(0, 10);
  const local = `${wanted} ${text.slice(11)}`;
  // The first second at which the clock shows this time, or a later one.
  let at = Date.parse(`${wanted}T00:00:00Z`) - DAY;
  for (const step of [HOUR, MINUTE, 1_000]) {
    while (clock.format(at) < local) at += step;
    at -= step;
  }
  const ms = clock.format(at + 1_000) === local ? now % 1_000 : 0;
  return at + 1_000 + ms;
}

function lengthOf(text: string): number {
  const unit = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY }[text.slice(-1)] ?? Number.NaN;
  return Number(text.slice(0, -1)) * unit;
}

function instantOf(written: string | number, now: number, zone: string): number {
  const text = String(written);
  if (text === "now") return now;
  if (text.startsWith("now-")) return back(now, text.slice(4), zone);
  if (/^\d{13}$/.test(text)) return Number(text);
  if (/^\d{10}$/.test(text)) return Number(text) * 1000;
  if (text.length === 10) {
    const date = Date.parse(`${text}T00:00:00Z`) / DAY;
    return (daysOf(zone).find((day) => day.date >= date) as LocalDay).start;
  }
  const signed = text.replace(/ (\d\d:\d\d)$/, "+$1");
  return Date.parse(/(?:[Zz]|[+-]\d\d:\d\d)$/.test(signed) ? signed.toUpperCase() : `${signed.toUpperCase()}Z`);
}

function inWords(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE);
  if (minutes % (24 * 60) === 0) return `${minutes / (24 * 60)}d`;
  if (minutes % 60 === 0) return `${minutes / 60}h`;
  return `${minutes}m`;
}
