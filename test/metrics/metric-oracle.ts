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
  const step = lengthOf(interval);
  const origin = interval.endsWith("w") ? WEEKS_START : 0;
  const floor = (ms: number) => {
    let start = origin + Math.trunc((ms - origin) / step) * step;
    while (start > ms) start -= step;
    return start;
  };

  // The window.
  let to = now;
  let from: number;
  let range: string;
  if (request.range !== undefined) {
    range = request.range.replace("now-", "");
    from = floor(now - lengthOf(range));
  } else {
    if (request.enddate !== undefined) to = instantOf(request.enddate, now);
    const relative = request.startdate === undefined || String(request.startdate).startsWith("now");
    const start = request.startdate === undefined ? to - 2 * DAY : instantOf(request.startdate, now);
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
    const values = slots
      .filter(([ts]) => ts >= start && ts < start + step && ts >= low && ts < to)
      .map(([, value]) => value);
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
      const due = dimension === "stream" ? slotOfStart + slot : slotOfStart;
      if (start < now && due <= now) return 0;
    }
    return value;
  };

  // Bucket by bucket.
  const values: { value: number; ts: string }[] = [];
  for (let start = floor(from); start < to && from < to; start += step) {
    const own = bucketValue(start, from);
    if (own === undefined) continue;
    let value = own;
    if (request.smooth === true) {
      const group: number[] = [];
      for (const neighbour of [start - 2 * step, start - step]) {
        // A bucket that ended before the window is whole; one inside of it is as the answer has it.
        const other = bucketValue(neighbour, neighbour + step <= from ? Number.NEGATIVE_INFINITY : from);
        if (other !== undefined) group.push(other);
      }
      group.push(own);
      value = group.reduce((sum, each) => sum + each, 0) / group.length;
    }
    values.push({ value: value + 0, ts: String(start) });
  }
  return { aggregation, interval, range, values };
}

function lengthOf(text: string): number {
  const unit = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY }[text.slice(-1)] ?? Number.NaN;
  return Number(text.slice(0, -1)) * unit;
}

function instantOf(written: string | number, now: number): number {
  const text = String(written);
  if (text === "now") return now;
  if (text.startsWith("now-")) return now - lengthOf(text.slice(4));
  if (/^\d{13}$/.test(text)) return Number(text);
  if (/^\d{10}$/.test(text)) return Number(text) * 1000;
  if (text.length === 10) return Date.parse(`${text}T00:00:00Z`);
  const signed = text.replace(/ (\d\d:\d\d)$/, "+$1");
  return Date.parse(/(?:[Zz]|[+-]\d\d:\d\d)$/.test(signed) ? signed.toUpperCase() : `${signed.toUpperCase()}Z`);
}

function inWords(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE);
  if (minutes % (24 * 60) === 0) return `${minutes / (24 * 60)}d`;
  if (minutes % 60 === 0) return `${minutes / 60}h`;
  return `${minutes}m`;
}
