import type { Plane } from "../../metrics/ports.js";
import { CsvRows } from "./csv-rows.js";
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

/** Where the columns stand in a row. */
type Positions = Readonly<Record<"table" | "time" | "value" | "field" | "id" | "type", number>>;

/**
 * Reads the CSV of a query's response, in pieces as they arrive, into columns. A point outside of them is left out; one that another
 * program wrote between two slots counts for the slot in which it lies, unless there is a point at the slot's start.
 */
export class CsvSlots {
  readonly #targetsOf: (id: string, type: string) => readonly SlotTarget[];
  readonly #rows = new CsvRows<Positions>(
    (of) => {
      this.#table = undefined;
      const series = { table: of("table"), field: of("_field"), id: of("dimension_id"), type: of("dimension_type") };
      return { ...series, time: of("_time"), value: of("_value") };
    },
    (cells, positions) => this.#row(cells, positions),
  );
  /** The table of the last row, its plane, and where its values go. */
  #table: string | undefined;
  #plane: Plane = "clients";
  #targets: readonly SlotTarget[] = [];

  constructor(targetsOf: (id: string, type: string) => readonly SlotTarget[]) {
    this.#targetsOf = targetsOf;
  }

  take(piece: Uint8Array): void {
    this.#rows.take(piece);
  }

  /** To be called after the last piece. Throws when the response was cut. */
  end(): void {
    this.#rows.end();
  }

  #row(cells: readonly string[], { table, time, value, field, id, type }: Positions): void {
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
