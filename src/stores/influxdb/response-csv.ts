import { LineSplitter } from "@influxdata/influxdb-client";
import { type ValueSource, valueSources } from "../../metrics/ports.js";
import type { AddedPoint } from "../../metrics/series.js";
import { BrokenResponse } from "./errors.js";
import { fieldOf, SOURCE_TAG } from "./lines.js";

/** The value of a slot whose added points have no finite sum if they are added one by one. */
export const UNKNOWN_SUM = Number.POSITIVE_INFINITY;

/** A column to be filled: the slots of one series over one window, in each source. */
export class SlotTarget {
  readonly from: number;
  readonly slotMs: number;
  readonly length: number;
  /** Each is allocated for its first point. */
  readonly #columns: Partial<Record<ValueSource, Float64Array>> = {};

  constructor(from: number, slotMs: number, length: number) {
    this.from = from;
    this.slotMs = slotMs;
    this.length = length;
  }

  /**
   * Stores the value of an instant (Unix ms) in a source; ignores an instant outside the window. Values of the source
   * `added` are added up: to `UNKNOWN_SUM` if one of them, or the sum, is not finite.
   */
  take(source: ValueSource, at: number, value: number): void {
    const slot = Math.floor((at - this.from) / this.slotMs);
    if (slot < 0 || slot >= this.length) return;
    this.#columns[source] ??= new Float64Array(this.length).fill(Number.NaN);
    const values = this.#columns[source];
    if (source === "added") {
      const sum = Number.isNaN(values[slot]) ? value : (values[slot] as number) + value;
      values[slot] = Number.isFinite(sum) ? sum : UNKNOWN_SUM;
    } else if (this.from + slot * this.slotMs === at || Number.isNaN(values[slot])) values[slot] = value;
  }

  /** Returns the column of all sources, in the order of `valueSources`. Call it once, at the end. */
  merged(): Float64Array {
    const [first = new Float64Array(this.length).fill(Number.NaN), ...others] = valueSources.flatMap(
      (source) => this.#columns[source] ?? [],
    );
    for (const other of others) {
      for (let slot = 0; slot < this.length; slot += 1) {
        if (Number.isNaN(first[slot])) first[slot] = other[slot] as number;
      }
    }
    return first;
  }
}

/** Receives the rows of a response. */
export interface RowReader {
  readonly columns: readonly string[];
  /** Receives the cells of a row in these columns, in their order, and the text of the row. */
  row(cells: readonly string[], line: string): void;
  /** Reads a row without splitting it, if possible; false if it did not. */
  quickRow?(line: string): boolean;
}

/**
 * Returns a reader that fills columns. It ignores points outside the columns. A point that another program wrote
 * between two slots counts for the earlier slot, unless there is a point at the slot's start.
 */
export function slotReader(targetsOf: (id: string, type: string) => readonly SlotTarget[]): RowReader {
  let targets: readonly SlotTarget[] = [];
  let source: ValueSource = "clients";
  /** Text before the time and after the value of the last row. The rows of a table have the same, and one series. */
  let around: { readonly before: string; readonly after: string } | undefined;

  function take(time: string, value: string): void {
    const at = timeOf(time);
    const number = numberOf(value);
    for (const target of targets) target.take(source, at, number);
  }

  return {
    columns: ["_time", "_value", "_field", "dimension_id", "dimension_type"],

    row(cells, line) {
      const [time, value, field, id, type] = cells as [string, string, string, string, string];
      targets = targetsOf(id, type);
      source = sourceOf.get(field) ?? "clients";
      take(time, value);
      const both = `,${time},${value},`;
      const [before, after] = line.split(both) as [string, string | undefined];
      around = after === undefined || line.includes('"') ? undefined : { before: `${before},`, after: `,${after}` };
    },

    quickRow(line) {
      if (around === undefined || !line.startsWith(around.before) || !line.endsWith(around.after)) return false;
      const both = line.slice(around.before.length, -around.after.length);
      const comma = both.indexOf(",");
      if (comma < 0 || comma !== both.lastIndexOf(",")) return false;
      take(both.slice(0, comma), both.slice(comma + 1));
      return true;
    },
  };
}

const sourceOf = new Map(valueSources.map((source) => [fieldOf[source], source]));

/** Returns a reader of added points. */
export function addedReader(take: (id: string, type: string, point: AddedPoint) => void): RowReader {
  return {
    columns: ["_time", "_value", SOURCE_TAG, "dimension_id", "dimension_type"],
    row([time, value, source, id, type]) {
      const [, fraction = ""] = /\.(\d+)Z$/.exec(time as string) ?? [];
      const ns = Number(fraction.padEnd(9, "0").slice(3));
      const point = {
        ms: timeOf(time as string),
        ns,
        source: Number.parseInt(source as string, 16),
        value: Number(value),
      };
      take(id as string, type as string, point);
    },
  };
}

/** Parses RFC 3339 in UTC to Unix ms, without the fraction of a ms. */
function timeOf(text: string): number {
  const ms = text.endsWith("Z") ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new BrokenResponse("The response has an invalid timestamp");
  return ms;
}

/** Returns a finite number; NaN for any other text. */
function numberOf(text: string): number {
  const value = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : Number.NaN;
}

/**
 * Passes the rows of a query's CSV response, in chunks, to `reader`. Rejects if the response was truncated, contains an
 * error, lacks a column, or has a row that is too short. `split` handles most lines and the client's `LineSplitter`
 * only lines with quotes: a general parser takes about twice as long.
 */
export async function readRows(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { columns, row, quickRow = () => false }: RowReader,
): Promise<void> {
  const decoder = new TextDecoder();
  const quoted = new LineSplitter();
  /** Places of the columns in the rows of the current block; undefined between blocks. */
  let places: readonly number[] | undefined;
  let isEnded = false;

  function readLine(line: string): void {
    isEnded = line === "";
    if (isEnded) places = undefined;
    else if (line.startsWith("#")) return;
    else if (places === undefined) places = placesIn(line.split(","), columns);
    else if (!quickRow(line)) {
      const cells = line.includes('"') ? quoted.splitLine(line) : line.split(",");
      row(
        places.map((place) => cells[place] ?? tooShort()),
        line,
      );
    }
  }

  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) readLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
  // A complete response ends with an empty line.
  if (!isEnded || rest !== "") throw new BrokenResponse("The response was truncated");
}

function placesIn(header: readonly string[], columns: readonly string[]): number[] {
  if (header.includes("error")) throw new BrokenResponse("The server failed while it responded");
  const places = columns.map((name) => header.indexOf(name));
  if (places.includes(-1)) throw new BrokenResponse("The response lacks a column");
  return places;
}

function tooShort(): never {
  throw new BrokenResponse("The response has a row that is too short");
}
