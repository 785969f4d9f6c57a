import { dimensionIdRule, isDimensionId } from "../reserved-names.js";
import { ADDED_UNTIL_MS } from "./added-points.js";
import { type Dimension, dimensionNamed, dimensionNames } from "./dimensions.js";
import { KnownSeries, type Series } from "./series.js";

/** Reason why points of a series cannot be written; `field` is the invalid field. */
export interface SeriesIssue {
  readonly field: "dimension" | "dimension_id" | "dimension_type";
  readonly code: string;
  readonly message: string;
}

/** A series, and the number of a source of its added points. */
export interface NamedSeries {
  readonly series: Series;
  readonly source: number;
}

/** Returns the series with these names, which may be any input of a caller, or the issue. */
export function writableSeries(dimensionName: unknown, id: unknown, type: unknown): Series | SeriesIssue {
  const dimension = typeof dimensionName === "string" ? dimensionNamed(dimensionName) : undefined;
  if (dimension === undefined)
    return issueOf("dimension", dimensionName, "unknown_dimension", `must be one of ${dimensionNames.join(", ")}`);
  if (typeof id !== "string" || !isDimensionId(id)) {
    return issueOf("dimension_id", id, "invalid_dimension_id", `must be ${dimensionIdRule}`);
  }
  if (dimension.reservedIds.includes(id)) {
    return issueOf("dimension_id", id, "reserved_id", "is reserved for reads of all ids");
  }
  const stored = dimension.storedTypes.find((storedType) => storedType === type);
  return stored === undefined ? typeIssue(dimension, type) : new KnownSeries(dimension, id, stored);
}

/** Returns whether `writableSeries` returned a series. */
export function isSeries(found: Series | SeriesIssue): found is Series {
  return "id" in found;
}

function typeIssue({ ratios, storedTypes }: Dimension, type: unknown): SeriesIssue {
  if (typeof type === "string" && Object.hasOwn(ratios, type)) {
    return issueOf("dimension_type", type, "computed_type", "is computed from other types and cannot be written");
  }
  return issueOf("dimension_type", type, "unknown_type", `must be one of ${storedTypes.join(", ")}`);
}

/** The issue is `required` if there is no value. */
function issueOf(field: SeriesIssue["field"], value: unknown, code: string, problem: string): SeriesIssue {
  if (value === undefined || value === null) return { field, code: "required", message: `${field} is required` };
  return { field, code, message: `${field} ${problem}` };
}

/** Maximum lead of a point over our clock, ms. */
const AHEAD_MS = 10 * 60_000;

/** 2000-01-01: an earlier instant was probably meant in another unit than ms. */
export const EARLIEST_POINT_MS = Date.UTC(2000, 0, 1);

/** Accepted points: at `to` (Unix ms) or before, in slots that start at `from` or after and end after `endAfter`. */
export interface WriteWindow {
  readonly from: number;
  readonly to: number;
  readonly endAfter: number;
}

/**
 * Returns which points may be written `now` to a store that keeps points for `retention` ms (unlimited if undefined).
 */
export function writeWindow(now: number, retention: number | undefined): WriteWindow {
  const from = Math.max(EARLIEST_POINT_MS, retention === undefined ? 0 : now - retention);
  return { from, to: now + AHEAD_MS, endAfter: 0 };
}

/** Like `writeWindow`, for points that are added. */
export function addWindow(now: number, retention: number | undefined): WriteWindow {
  return { ...writeWindow(now, retention), endAfter: now - ADDED_UNTIL_MS };
}

/** Returns whether a point at an instant (Unix ms), in a slot of `slotMs`, is accepted. */
export function isInWindow(ms: number, slotMs: number, { from, to, endAfter }: WriteWindow): boolean {
  const start = ms - (ms % slotMs);
  return ms <= to && start >= from && start + slotMs > endAfter;
}

/** Returns why an instant outside the window is refused. */
export function instantIssue(ms: number, window: WriteWindow): { code: string; message: string } {
  if (ms > window.to)
    return { code: "too_far_ahead", message: "The time is more than 10 minutes in the future; check its unit" };
  if (ms < EARLIEST_POINT_MS) return { code: "too_old", message: "The time is before 2000-01-01; check its unit" };
  if (ms < window.endAfter && ms >= window.from)
    return { code: "before_retention", message: "The slot ended more than 48 hours ago: only its sum is kept" };
  return { code: "before_retention", message: "The time is before what the store keeps" };
}
