import { instantReader } from "../../formats/instant.js";
import { BAD_TIME, BAD_VALUE, type RowDefaults, type RowReader } from "./row.js";

/** A reader of lines of JSON: `{ dimension, dimension_id, dimension_type, value, ts }`, `time` or `timestamp` for `ts`. */
export function jsonRows(defaults: RowDefaults): RowReader {
  const readInstant = instantReader();
  return (text, row) => {
    let point: unknown;
    try {
      point = JSON.parse(text);
    } catch {
      return { code: "not_json", message: "it is not JSON" };
    }
    if (typeof point !== "object" || point === null || Array.isArray(point)) {
      return { code: "not_an_object", message: "it is not a JSON object" };
    }
    const fields = point as Record<string, unknown>;
    row.dimension = defaults.dimension ?? fields.dimension;
    row.dimension_id = defaults.dimensionId ?? fields.dimension_id;
    row.dimension_type = defaults.dimensionType ?? fields.dimension_type ?? "size";
    row.ms = readInstant(fields.ts ?? fields.time ?? fields.timestamp);
    if (Number.isNaN(row.ms)) return BAD_TIME;
    if (typeof fields.value !== "number" || !Number.isFinite(fields.value)) return BAD_VALUE;
    row.value = fields.value;
    return undefined;
  };
}
