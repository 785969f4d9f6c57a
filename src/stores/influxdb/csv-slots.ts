import type { Plane } from "../../metrics/series-store.js";
import { parseNumber, parseTime } from "./csv-values.js";
import { BrokenAnswer } from "./errors.js";
import { fieldOf } from "./line-text.js";

/** A column to be filled: the slots of one series over one window, in both planes. */
export class SlotTarget {
  readonly from: number;
  readonly slotMs: number;
  readonly length: number;
  /** Each is made when its first point comes. */
  readonly #columns: Partial<Record<Plane, Float64Array>> = {};

  constructor(from: number, slotMs: number, length: number) {
    this.from = from;
    this.slotMs = slotMs;
    this.length = length;
  }

  /** Takes the value of a moment (Unix ms) in a plane; one that lies outside is left out. */
  take(plane: Plane, at: number, value: number): void {
    const slot = Math.floor((at - this.from) / this.slotMs);
    if (slot < 0 || slot >= this.length) return;
    this.#columns[plane] ??= new Float64Array(this.length).fill(Number.NaN);
    const values = this.#columns[plane];
    if (this.from + slot * this.slotMs === at || Number.isNaN(values[slot])) values[slot] = value;
  }

  /** Where both planes have a value, that of the clients. Undefined when no point came. To be called once, at the end. */
  merged(): Float64Array | undefined {
    const { clients, recorder } = this.#columns;
    if (clients === undefined || recorder === undefined) return clients ?? recorder;
    for (let slot = 0; slot < this.length; slot += 1) {
      if (Number.isNaN(clients[slot])) clients[slot] = recorder[slot] as number;
    }
    return clients;
  }
}

const NEWLINE = 10;
const RETURN = 13;
const QUOTE = 34;
const HASH = 35;
const COMMA = 44;

const columnNames = ["table", "_time", "_value", "_field", "dimension_id", "dimension_type"] as const;

/**
 * Reads the CSV that a script answers, in pieces as they come, into columns. A point outside of them is left out; one that
 * another program wrote between two slots counts for the slot that it lies in, unless there is a point at the slot's start. By bytes, without
 * a text for each cell: csv-parse takes about twice as long.
 */
export class CsvSlots {
  readonly #targetsOf: (id: string, type: string) => readonly SlotTarget[];
  #rest: Buffer = Buffer.alloc(0);
  /** Positions of the columns by `columnNames` in the block that is being read; undefined between blocks. */
  #positions: number[] | undefined;
  #ended = false;
  /** The table of the last row, its plane, and where its values go. */
  #table = "";
  #plane: Plane = "clients";
  #targets: readonly SlotTarget[] = [];
  #starts = new Int32Array(32);
  #ends = new Int32Array(32);

  constructor(targetsOf: (id: string, type: string) => readonly SlotTarget[]) {
    this.#targetsOf = targetsOf;
  }

  take(piece: Uint8Array): void {
    const buffer = this.#rest.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#rest, piece]);
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE); end >= 0; end = buffer.indexOf(NEWLINE, start)) {
      this.#line(buffer, start, end > start && buffer[end - 1] === RETURN ? end - 1 : end);
      start = end + 1;
    }
    this.#rest = buffer.subarray(start);
  }

  /** To be called after the last piece. Throws when it was not the last: an answer ends with an empty line. */
  end(): void {
    if (!this.#ended || this.#rest.length > 0) throw new BrokenAnswer("The answer stops before its end");
  }

  #line(buffer: Buffer, start: number, end: number): void {
    this.#ended = start === end;
    if (this.#ended) this.#positions = undefined;
    else if (buffer[start] === HASH) return;
    else if (this.#positions === undefined) this.#header(buffer.toString("utf8", start, end));
    else this.#row(buffer, start, end, this.#positions);
  }

  #header(line: string): void {
    const names = line.split(",");
    if (names.includes("error")) throw new BrokenAnswer("The server failed while it answered");
    this.#positions = columnNames.map((name) => names.indexOf(name));
    if (this.#positions.includes(-1)) throw new BrokenAnswer("The answer lacks a column");
    this.#table = "";
  }

  #row(buffer: Buffer, start: number, end: number, positions: number[]): void {
    const [table, time, value, field, id, type] = positions as [number, number, number, number, number, number];
    this.#split(buffer, start, end, Math.max(table, time, value));
    const name = this.#text(buffer, table);
    if (name !== this.#table) {
      this.#split(buffer, start, end, Math.max(...positions));
      this.#plane = this.#text(buffer, field) === fieldOf.recorder ? "recorder" : "clients";
      this.#targets = this.#targetsOf(this.#text(buffer, id), this.#text(buffer, type));
      this.#table = name;
    }
    const at = parseTime(buffer, this.#starts[time] as number, this.#ends[time] as number);
    const number = parseNumber(buffer, this.#starts[value] as number, this.#ends[value] as number);
    if (Number.isNaN(at)) throw new BrokenAnswer("The answer has a time that is none");
    for (const target of this.#targets) target.take(this.#plane, at, number);
  }

  /** Finds where the fields up to number `last` begin and end. */
  #split(buffer: Buffer, start: number, end: number, last: number): void {
    let at = start;
    for (let field = 0; field <= last; field += 1) {
      if (at > end) throw new BrokenAnswer("The answer has a row that is too short");
      this.#starts[field] = at;
      if (buffer[at] === QUOTE) {
        at += 1;
        while (at < end && (buffer[at] !== QUOTE || buffer[at + 1] === QUOTE)) at += buffer[at] === QUOTE ? 2 : 1;
        at += 1;
      } else while (at < end && buffer[at] !== COMMA) at += 1;
      this.#ends[field] = Math.min(at, end);
      at += 1;
    }
  }

  #text(buffer: Buffer, field: number): string {
    const start = this.#starts[field] as number;
    const end = this.#ends[field] as number;
    if (buffer[start] !== QUOTE) return buffer.toString("utf8", start, end);
    return buffer.toString("utf8", start + 1, end - 1).replaceAll('""', '"');
  }
}
