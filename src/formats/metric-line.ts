import type { LinePoint } from "./line-protocol.js";

/** Units of a timestamp, by the name that `precision` gives them: its decimal digits below (ns) a millisecond, or above. */
const DIGITS_BELOW_MS = { ns: 6, us: 3, ms: 0, s: -3 } as const;

export type Precision = keyof typeof DIGITS_BELOW_MS;

export const precisions = Object.keys(DIGITS_BELOW_MS) as Precision[];

/** What a line says of a metric; names and moment are still to be checked. */
export interface MetricLine {
  readonly dimension: string;
  readonly dimension_id: string | undefined;
  readonly dimension_type: string;
  readonly value: number;
  /** Unix ms, moved down; undefined when the line names no time. */
  readonly ms: number | undefined;
}

/** Why a line that is line protocol is not a metric point. */
export interface MetricLineIssue {
  readonly code: string;
  readonly issue: string;
}

/** The measurement is the dimension, two tags name the series (others are ignored), and the one field is `value`. */
export function metricLine(
  { measurement, tags, fields, timestamp }: LinePoint,
  precision: Precision,
): MetricLine | MetricLineIssue {
  const value = fields.get("value");
  if (value === undefined || fields.size > 1)
    return { code: "unknown_field", issue: "The only field is value, and it is required" };
  if (typeof value !== "number" || Number.isNaN(value))
    return { code: "bad_value", issue: "The field value is a finite number" };
  return {
    dimension: measurement,
    dimension_id: tags.get("dimension_id"),
    dimension_type: tags.get("dimension_type") ?? "size",
    value,
    ms: timestamp === undefined ? undefined : toMs(timestamp, DIGITS_BELOW_MS[precision]),
  };
}

/** By its digits, as a double cannot hold nanoseconds: a point just before the end of a slot must not move into the next. */
function toMs(timestamp: string, digits: number): number {
  if (digits <= 0) return Number(timestamp) * 10 ** -digits;
  const ms = timestamp.slice(0, -digits);
  return timestamp.startsWith("-") ? -1 : Number(ms);
}
