import { type CsvRecord, csvCells } from "../../formats/csv.js";
import { instantReader } from "../../formats/instant.js";
import { BAD_TIME, BAD_VALUE, numberIn, type RowDefaults, type RowReader } from "./rows.js";

const TIME_COLUMNS = ["ts", "time", "timestamp"];

/** Whether a line is the header of a CSV file of points: it names a time and a value. */
export function isCsvHeader(text: string): boolean {
  const names = columnNames(text);
  return names.includes("value") && names.some((name) => TIME_COLUMNS.includes(name));
}

/** Other separators than the comma that programs write, as a person names them. */
const SEPARATORS: readonly [separator: string, name: string][] = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "vertical bars"],
];

/** What separates the columns of a header that would be one with commas, in words; undefined when it is no such header. */
export function otherSeparator(text: string): string | undefined {
  return SEPARATORS.find(([separator]) => isCsvHeader(text.replaceAll(separator, ",")))?.[1];
}

/** A reader of records under this header; or, as a text, why there can be none. */
export function csvRows(header: string, defaults: RowDefaults): RowReader<CsvRecord["cells"]> | string {
  const names = columnNames(header);
  const column = (name: string) => names.indexOf(name);
  const [dimension, id, type] = [column("dimension"), column("dimension_id"), column("dimension_type")];
  const [value, time] = [column("value"), names.findIndex((name) => TIME_COLUMNS.includes(name))];
  if (defaults.dimension === undefined && dimension < 0) return "no column dimension, and no --dimension";
  if (defaults.dimensionId === undefined && id < 0) return "no column dimension_id, and no --dimension-id";
  const readInstant = instantReader();

  return (cells, row) => {
    if (cells === undefined || cells.length !== names.length) {
      return { code: "invalid_row", message: `it does not have ${names.length} columns` };
    }
    row.dimension = defaults.dimension ?? cells[dimension]?.trim();
    row.dimension_id = defaults.dimensionId ?? cells[id];
    row.dimension_type = defaults.dimensionType ?? (cells[type]?.trim() || "size");
    row.value = numberIn((cells[value] as string).trim());
    row.ms = readInstant(cells[time]);
    if (Number.isNaN(row.ms)) return BAD_TIME;
    return Number.isNaN(row.value) ? BAD_VALUE : undefined;
  };
}

function columnNames(header: string): string[] {
  return (csvCells(header) ?? []).map((name) => name.trim().toLowerCase());
}
