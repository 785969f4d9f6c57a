import { parseLine } from "../../formats/line-protocol.js";
import { metricLine, type Precision } from "../../formats/metric-line.js";
import type { RowDefaults, RowReader } from "./row.js";

/** A reader of line protocol; a line without a timestamp means `now` (Unix ms). */
export function lineRows(defaults: RowDefaults, precision: Precision, now: number): RowReader {
  return (text, row) => {
    const parsed = parseLine(text);
    if ("fault" in parsed) return { code: "invalid_line", message: `it is not line protocol: ${parsed.fault}` };
    const line = metricLine(parsed, precision);
    if ("fault" in line) return { code: "invalid_line", message: line.fault };
    row.dimension = defaults.dimension ?? line.dimension;
    row.dimension_id = defaults.dimensionId ?? line.dimension_id;
    row.dimension_type = defaults.dimensionType ?? line.dimension_type;
    row.value = line.value;
    row.ms = line.ms ?? now;
    return undefined;
  };
}
