import { LineSplitter } from "@influxdata/influxdb-client";
import type { Plane } from "../../metrics/ports.js";
import { BrokenResponse } from "./errors.js";
import { fieldOf } from "./lines.js";

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

  /** Takes the value of an instant (Unix ms) in a plane; one that lies outside is left out. */
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

/** Where the columns stand in a row; `last` is the greatest of them. */
type Positions = Readonly<Record<"table" | "time" | "value" | "field" | "id" | "type" | "last", number>>;

/**
 * Reads the CSV of a query's response, in pieces as they arrive, into columns. A point outside of them is left out; one that another
 * program wrote between two slots counts for the slot in which it lies, unless there is a point at the slot's start. Cells are cut
 * by `split`, and by the client's `LineSplitter` only where a line has quotes: csv-parse takes about twice as long.
 */
export class CsvSlots {
  readonly #targetsOf: (id: string, type: string) => readonly SlotTarget[];
  readonly #decoder = new TextDecoder();
  readonly #quoted = new LineSplitter();
  /** What has arrived of a line that has not ended. */
  #rest = "";
  /** Of the block that is being read; undefined between blocks. */
  #positions: Positions | undefined;
  #ended = false;
  /** The table of the last row, its plane, and where its values go. */
  #table: string | undefined;
  #plane: Plane = "clients";
  #targets: readonly SlotTarget[] = [];

  constructor(targetsOf: (id: string, type: string) => readonly SlotTarget[]) {
    this.#targetsOf = targetsOf;
  }

  take(piece: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  /** To be called after the last piece. Throws when the response was cut: a whole one ends with an empty line. */
  end(): void {
    if (!this.#ended || this.#rest !== "") throw new BrokenResponse("The response stops before its end");
  }

  #line(line: string): void {
    this.#ended = line === "";
    if (this.#ended) this.#positions = undefined;
    else if (line.startsWith("#")) return;
    else if (this.#positions === undefined) this.#positions = this.#header(line.split(","));
    else this.#row(line.includes('"') ? this.#quoted.splitLine(line) : line.split(","), this.#positions);
  }

  #header(names: readonly string[]): Positions {
    if (names.includes("error")) throw new BrokenResponse("The server failed while it responded");
    const of = (name: string) => {
      const position = names.indexOf(name);
      if (position < 0) throw new BrokenResponse("The response lacks a column");
      return position;
    };
    this.#table = undefined;
    const series = { table: of("table"), field: of("_field"), id: of("dimension_id"), type: of("dimension_type") };
    const positions = { ...series, time: of("_time"), value: of("_value") };
    return { ...positions, last: Math.max(...Object.values(positions)) };
  }

  #row(cells: readonly string[], { table, time, value, field, id, type, last }: Positions): void {
    if (cells.length <= last) throw new BrokenResponse("The response has a row that is too short");
    if (cells[table] !== this.#table) {
      this.#table = cells[table];
      this.#plane = cells[field] === fieldOf.recorder ? "recorder" : "clients";
      this.#targets = this.#targetsOf(cells[id] as string, cells[type] as string);
    }
    const at = timeOf(cells[time] as string);
    const number = numberOf(cells[value] as string);
    for (const target of this.#targets) target.take(this.#plane, at, number);
  }
}

/** RFC 3339 in UTC as Unix ms, without the fraction of a ms. */
function timeOf(text: string): number {
  const ms = text.endsWith("Z") ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new BrokenResponse("The response has a time that is none");
  return ms;
}

/** A finite number; NaN for any other text. */
function numberOf(text: string): number {
  const value = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : Number.NaN;
}
