import { LineSplitter } from "@influxdata/influxdb-client";
import type { Dimension } from "../../metrics/dimensions.js";
import { type ValueSource, valueSources } from "../../metrics/ports.js";
import type { Series } from "../../metrics/series.js";
import type { TakeAdded } from "../copy.js";
import { BrokenResponse } from "./errors.js";
import { fieldOf, ORDER_TAG, SOURCE_TAG } from "./lines.js";

/**
 * The value of a slot whose added points must be read one by one: the sum is not finite, or several orders may have the
 * same point.
 */
export const UNKNOWN_SUM = Number.POSITIVE_INFINITY;

/** A column to be filled: the slots of one series over one window, in each source. */
export class SlotTarget {
  readonly from: number;
  readonly slotMs: number;
  readonly length: number;
  /** Each is allocated for its first point. */
  readonly #columns: Partial<Record<ValueSource, Float64Array>> = {};
  /** The order of the added points of each slot. */
  #orders: Float64Array | undefined;

  constructor(from: number, slotMs: number, length: number) {
    this.from = from;
    this.slotMs = slotMs;
    this.length = length;
  }

  /**
   * Stores the value of an instant (Unix ms) in a source; ignores an instant outside the window. Values of the source
   * `added` are sums of points of an order and are added up: to `UNKNOWN_SUM` if a sum is not finite, or the slot has
   * points of another order.
   */
  take(source: ValueSource, at: number, value: number, order = 0): void {
    const slot = Math.floor((at - this.from) / this.slotMs);
    if (slot < 0 || slot >= this.length) return;
    this.#columns[source] ??= new Float64Array(this.length).fill(Number.NaN);
    const values = this.#columns[source];
    if (source === "added") {
      this.#orders ??= new Float64Array(this.length);
      const isFirst = Number.isNaN(values[slot]);
      if (isFirst) this.#orders[slot] = order;
      const sum = isFirst ? value : (values[slot] as number) + value;
      values[slot] = Number.isFinite(sum) && this.#orders[slot] === order ? sum : UNKNOWN_SUM;
    } else if (!Number.isNaN(value)) values[slot] = value;
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
  /** Columns that a response may lack: their cells are empty then. */
  readonly optional?: readonly string[];
  /** Receives the cells of a row in these columns, in their order. */
  row(cells: readonly string[]): void;
}

/**
 * Returns a reader that fills columns. It ignores points outside the columns. Of the points of a field in a slot the
 * last row counts.
 */
export function slotReader(targetsOf: (id: string, type: string) => readonly SlotTarget[]): RowReader {
  let [lastId, lastType] = ["", ""];
  let targets: readonly SlotTarget[] = [];

  return {
    columns: ["_time", "_value", "_field", "dimension_id", "dimension_type", ORDER_TAG],
    optional: [ORDER_TAG],

    row(cells) {
      const [time, value, field, id, type, order] = cells as [string, string, string, string, string, string];
      // The rows of a series follow each other.
      if (id !== lastId || type !== lastType) {
        [lastId, lastType] = [id, type];
        targets = targetsOf(id, type);
      }
      const source = sourceOf.get(field) ?? "clients";
      const at = timeOf(time);
      const number = numberOf(value);
      for (const target of targets) target.take(source, at, number, Number(order));
    },
  };
}

const sourceOf = new Map(valueSources.map((source) => [fieldOf[source], source]));

/**
 * Returns a reader of added points that passes each to `take`, with the value of its highest order. The points of a
 * series and source are kept until the first row of another one, or `end`.
 */
export function addedReader(dimension: Dimension, take: TakeAdded): RowReader & { end(): void } {
  let group = "";
  let series: Series = { dimension, id: "", type: "" };
  let source = 0;
  /** The newest points of the current series and source, by the text of their time. */
  const newest = new Map<string, { readonly value: number; readonly order: number }>();

  function end(): void {
    for (const [time, { value }] of newest) {
      const [, fraction = ""] = /\.(\d+)Z$/.exec(time) ?? [];
      take(series, { ms: timeOf(time), ns: Number(fraction.padEnd(9, "0").slice(3)), source, value });
    }
    newest.clear();
  }

  return {
    columns: ["_time", "_value", SOURCE_TAG, "dimension_id", "dimension_type", ORDER_TAG],
    optional: [ORDER_TAG],
    row(cells) {
      const [time, value, sourceTag, id, type, orderTag] = cells as [string, string, string, string, string, string];
      const groupOfRow = `${sourceTag} ${type} ${id}`;
      if (groupOfRow !== group) {
        end();
        group = groupOfRow;
        series = { dimension, id, type };
        source = Number.parseInt(sourceTag, 16);
      }
      const order = Number(orderTag);
      if (order >= (newest.get(time)?.order ?? 0)) newest.set(time, { value: Number(value), order });
    },
    end,
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
  { columns, optional = [], row }: RowReader,
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
    else if (places === undefined) places = placesIn(line.split(","), columns, optional);
    else {
      const cells = line.includes('"') ? quoted.splitLine(line) : line.split(",");
      row(places.map((place) => (place < 0 ? "" : (cells[place] ?? tooShort()))));
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

function placesIn(header: readonly string[], columns: readonly string[], optional: readonly string[]): number[] {
  if (header.includes("error")) throw new BrokenResponse("The server failed while it responded");
  const isMissing = (name: string) => !header.includes(name) && !optional.includes(name);
  if (columns.some(isMissing)) throw new BrokenResponse("The response lacks a column");
  return columns.map((name) => header.indexOf(name));
}

function tooShort(): never {
  throw new BrokenResponse("The response has a row that is too short");
}
