import type { PointFold } from "../../metrics/slot-columns.js";
import { isInWindow, isSeries, type WritableSeries, type WriteWindow } from "../../metrics/writable-points.js";
import type { Issues } from "../validation.js";
import { unknownFields } from "../validation.js";
import { readMoment, readValue } from "./point-values.js";

const FIELDS = ["dimension", "dimension_id", "dimension_type", "value", "ts"] as const;

/** What one write has come to so far. */
export interface PointReader {
  readonly series: WritableSeries;
  readonly window: WriteWindow;
  readonly fold: PointFold;
  readonly issues: Issues;
}

/** Takes one point `{ dimension, dimension_id, dimension_type, value, ts }`; `path` says where it stands in the body. */
export function readFlatPoint(point: unknown, path: () => string, reader: PointReader): void {
  const { series, window, fold, issues } = reader;
  if (typeof point !== "object" || point === null || Array.isArray(point)) {
    issues.add("not_an_object", path(), "A point is an object");
    return;
  }
  const { dimension, dimension_id, dimension_type, value, ts } = point as Record<string, unknown>;
  const found = series.find(dimension, dimension_id, dimension_type);
  if (
    isSeries(found) &&
    typeof ts === "number" &&
    Number.isInteger(ts) &&
    isInWindow(ts, found.dimension.slotMs, window) &&
    typeof value === "number" &&
    Number.isFinite(value) &&
    Object.keys(point).length === FIELDS.length
  ) {
    fold.add(found, ts, value);
    return;
  }
  const at = path();
  const before = issues.count;
  unknownFields(point, FIELDS, at, issues);
  if (!isSeries(found)) issues.add(found.code, `${at}.${found.field}`, found.message);
  const amount = readValue(value, `${at}.value`, issues);
  const slotMs = isSeries(found) ? found.dimension.slotMs : 1;
  const moment = readMoment(ts, { window, slotMs }, `${at}.ts`, issues);
  if (issues.count === before && isSeries(found)) fold.add(found, moment, amount);
}
