import { decimal } from "../../formats/decimal.js";
import type { Fault } from "../rejections.js";

/** One point as a line of a file names it; a reader writes each line into the same object. */
export interface Row {
  dimension: unknown;
  dimension_id: unknown;
  dimension_type: unknown;
  value: number;
  /** Unix ms. */
  ms: number;
}

/** What the options of the command say of every row; they win over what a line says. */
export interface RowDefaults {
  readonly dimension: string | undefined;
  readonly dimensionId: string | undefined;
  readonly dimensionType: string | undefined;
}

/** Reads one line, or its cells, into `row`; returns what is wrong with it, or undefined when nothing is. */
export type RowReader<Source = string> = (source: Source, row: Row) => Fault | undefined;

export const BAD_TIME: Fault = { code: "invalid_time", message: "its time is none that is understood" };
export const BAD_VALUE: Fault = { code: "invalid_value", message: "its value is not a finite number" };

/** The finite number that a text is, else NaN. */
export function numberIn(text: string): number {
  const value = decimal(text);
  return value !== undefined && Number.isFinite(value) ? value : Number.NaN;
}
