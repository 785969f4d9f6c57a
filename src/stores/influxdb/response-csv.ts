import { LineSplitter } from "@influxdata/influxdb-client";
import type { ValueSource } from "../../metrics/ports.js";
import { BrokenResponse } from "./errors.js";
import { fieldOf } from "./lines.js";

/** A column to be filled: the slots of one series over one window, in both sources. */
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

  /** Stores the value of an instant (Unix ms) in a source; ignores an instant outside the window. */
  take(source: ValueSource, at: number, value: number): void {
    const slot = Math.floor((at - this.from) / this.slotMs);
    if (slot < 0 || slot >= this.length) return;
    this.#columns[source] ??= new Float64Array(this.length).fill(Number.NaN);
    const values = this.#columns[source];
    if (this.from + slot * this.slotMs === at || Number.isNaN(values[slot])) values[slot] = value;
  }

  /**
   * Returns the column of both sources; the clients' value takes precedence. Call it once, at the end.
   */
  merged(): Float64Array {
    const { clients, recorder } = this.#columns;
    if (clients === undefined || recorder === undefined)
      return clients ?? recorder ?? new Float64Array(this.length).fill(Number.NaN);
    for (let slot = 0; slot < this.length; slot += 1) {
      if (Number.isNaN(clients[slot])) clients[slot] = recorder[slot] as number;
    }
    return clients;
  }
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Text between the hour and the value in a row of a full hour. */
const ON_THE_HOUR = ":00:00Z,";

/** Parts of a row that the next row repeats if it is of the same series and day. */
interface RowFrame {
  /** Text before the hour. */
  readonly before: string;
  /** Text after the value. */
  readonly after: string;
  /** Start of the day, Unix ms. */
  readonly dayMs: number;
}

/** Returns the frame of a row for an instant; undefined if cells are quoted, or the value does not follow the time. */
function frameOf(cells: readonly string[], { time, value }: Positions, line: string, at: number): RowFrame | undefined {
  const timeText = cells[time] as string;
  if (value !== time + 1 || timeText[DATE_LENGTH] !== "T" || line.includes('"')) return undefined;
  let timeAt = 0;
  for (let i = 0; i < time; i += 1) timeAt += (cells[i] as string).length + 1;
  const valueAt = timeAt + timeText.length + 1;
  return {
    before: line.slice(0, timeAt + DATE_LENGTH + 1),
    after: line.slice(valueAt + (cells[value] as string).length),
    dayMs: at - (at % DAY),
  };
}

const DATE_LENGTH = "2024-02-28".length;

/** Parses up to 15 digits in [from, to); undefined for anything else. */
function wholeNumber(text: string, from: number, to: number): number | undefined {
  if (to - from > 15) return undefined;
  let number = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return undefined;
    number = 10 * number + digit;
  }
  return number;
}

const ZERO = "0".charCodeAt(0);

/** Positions of the columns in a row. */
type Positions = Readonly<Record<"table" | "time" | "value" | "field" | "id" | "type", number>>;

/**
 * Reads the CSV response of a query, in chunks, into columns. Ignores points outside the columns. A point that another
 * program wrote between two slots counts for the earlier slot, unless there is a point at the slot's start.
 */
export class CsvSlots {
  readonly #targetsOf: (id: string, type: string) => readonly SlotTarget[];
  readonly #rows = new CsvRows<Positions>({
    columnsOf: (of) => {
      this.#table = undefined;
      this.#frame = undefined;
      const series = { table: of("table"), field: of("_field"), id: of("dimension_id"), type: of("dimension_type") };
      return { ...series, time: of("_time"), value: of("_value") };
    },
    row: (cells, positions, line) => this.#row(cells, positions, line),
    quickRow: (text, from, to) => this.#quickRow(text, from, to),
  });
  /** The table of the last row, its source, and the targets of its values. */
  #table: string | undefined;
  #source: ValueSource = "clients";
  #targets: readonly SlotTarget[] = [];
  /** Text around the hour and the value of the last row. */
  #frame: RowFrame | undefined;

  constructor(targetsOf: (id: string, type: string) => readonly SlotTarget[]) {
    this.#targetsOf = targetsOf;
  }

  take(chunk: Uint8Array): void {
    this.#rows.take(chunk);
  }

  /** Call it after the last chunk. Throws if the response was truncated. */
  end(): void {
    this.#rows.end();
  }

  #row(cells: readonly string[], positions: Positions, line: string): void {
    const { table, time, value, field, id, type } = positions;
    if (cells[table] !== this.#table) {
      this.#table = cells[table];
      this.#source = cells[field] === fieldOf.recorder ? "recorder" : "clients";
      this.#targets = this.#targetsOf(cells[id] as string, cells[type] as string);
    }
    const at = timeOf(cells[time] as string);
    const number = numberOf(cells[value] as string);
    this.#frame = frameOf(cells, positions, line, at);
    for (const target of this.#targets) target.take(this.#source, at, number);
  }

  /** Fast path for a row that differs from the last one only in its hour and value, as nearly all do. */
  #quickRow(text: string, from: number, to: number): boolean {
    if (this.#frame === undefined) return false;
    const { before, dayMs, after } = this.#frame;
    const hourAt = from + before.length;
    const valueAt = hourAt + 2 + ON_THE_HOUR.length;
    const valueEnd = to - after.length;
    if (valueEnd <= valueAt || !text.startsWith(before, from) || !text.startsWith(after, valueEnd)) return false;
    if (!text.startsWith(ON_THE_HOUR, hourAt + 2)) return false;
    const hour = wholeNumber(text, hourAt, hourAt + 2);
    const number = wholeNumber(text, valueAt, valueEnd) ?? Number(text.slice(valueAt, valueEnd));
    // A cell with quotes, or two cells, are not a number.
    if (hour === undefined || hour >= 24 || !Number.isFinite(number)) return false;
    for (const target of this.#targets) target.take(this.#source, dayMs + hour * HOUR, number);
    return true;
  }
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

/** Receives the rows of a response. */
export interface RowReader<Columns> {
  /** Called for each header; returns the positions of the columns. */
  columnsOf(positionOf: (name: string) => number): Columns;
  /** Receives a row, which has a cell at all of these positions. `line` is its text. */
  row(cells: readonly string[], columns: Columns, line: string): void;
  /** Reads the row at [from, to) without splitting it, if possible; false if it did not. */
  quickRow?(text: string, from: number, to: number): boolean;
}

/** Receives the chunks of a response. */
export type ResponseReader = Pick<CsvRows<unknown>, "take" | "end">;

/** Passes the chunks of a response to `reader`. Rejects if the response was truncated or contains an error. */
export async function readWhole(chunks: AsyncIterable<Uint8Array>, reader: ResponseReader): Promise<void> {
  for await (const chunk of chunks) reader.take(chunk);
  reader.end();
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/**
 * Splits the CSV response of a query, in chunks, into rows of cells. `split` handles most lines and the client's
 * `LineSplitter` only lines with quotes: csv-parse takes about twice as long.
 */
export class CsvRows<Columns> {
  readonly #reader: RowReader<Columns>;
  readonly #quoted = new LineSplitter();
  /** Start of an incomplete line. */
  #rest: Uint8Array = Buffer.alloc(0);
  /** Columns of the current block; undefined between blocks. */
  #columns: Columns | undefined;
  /** The greatest position of a requested column. */
  #last = 0;
  #ended = false;

  constructor(reader: RowReader<Columns>) {
    this.#reader = reader;
  }

  /** Throws if the server reports an error, a column is absent, or a row is too short. */
  take(chunk: Uint8Array): void {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    this.#rest = bytes.subarray(end);
    this.#lines(bytes.toString("utf8", 0, end));
  }

  /** Call it after the last chunk. Throws if the response was truncated: a complete one ends with an empty line. */
  end(): void {
    if (!this.#ended || this.#rest.length > 0) throw new BrokenResponse("The response was truncated");
  }

  /** Reads complete lines. */
  #lines(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      const to = end > from && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end;
      const isTaken = this.#columns !== undefined && this.#reader.quickRow?.(text, from, to);
      if (!isTaken) this.#line(text.slice(from, to));
      from = end + 1;
    }
  }

  #line(line: string): void {
    this.#ended = line === "";
    if (this.#ended) this.#columns = undefined;
    else if (line.startsWith("#")) return;
    else if (this.#columns === undefined) this.#columns = this.#header(line.split(","));
    else {
      const cells = line.includes('"') ? this.#quoted.splitLine(line) : line.split(",");
      if (cells.length <= this.#last) throw new BrokenResponse("The response has a row that is too short");
      this.#reader.row(cells, this.#columns, line);
    }
  }

  #header(names: readonly string[]): Columns {
    if (names.includes("error")) throw new BrokenResponse("The server failed while it responded");
    this.#last = 0;
    return this.#reader.columnsOf((name) => {
      const position = names.indexOf(name);
      if (position < 0) throw new BrokenResponse("The response lacks a column");
      this.#last = Math.max(this.#last, position);
      return position;
    });
  }
}
