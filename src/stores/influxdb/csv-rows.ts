import { LineSplitter } from "@influxdata/influxdb-client";
import { BrokenResponse } from "./errors.js";

/** What takes the rows of a response. */
export interface RowReader<Columns> {
  /** Called at each header: says where the columns stand. */
  columnsOf(positionOf: (name: string) => number): Columns;
  /** Takes a row, which has a cell at all of these positions. `line` is what the cells were cut out of. */
  row(cells: readonly string[], columns: Columns, line: string): void;
  /** Takes the row at [from, to) of a text, when that is easier than to have it cut; false when it was not taken. */
  quickRow?(text: string, from: number, to: number): boolean;
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/**
 * Cuts the CSV of a query's response, in pieces as they arrive, into rows of cells. Cells are cut by `split`, and by the client's `LineSplitter` only
 * where a line has quotes: csv-parse takes about twice as long.
 */
export class CsvRows<Columns> {
  readonly #reader: RowReader<Columns>;
  readonly #quoted = new LineSplitter();
  /** What has arrived of a line that has not ended. */
  #rest: Uint8Array = Buffer.alloc(0);
  /** Of the block that is being read; undefined between blocks. */
  #columns: Columns | undefined;
  /** The greatest position of a column that was asked for. */
  #last = 0;
  #ended = false;

  constructor(reader: RowReader<Columns>) {
    this.#reader = reader;
  }

  /** Throws when the server says that it failed, a column is absent, or a row is too short. */
  take(piece: Uint8Array): void {
    const bytes = Buffer.concat([this.#rest, piece]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    this.#rest = bytes.subarray(end);
    this.#lines(bytes.toString("utf8", 0, end));
  }

  /** To be called after the last piece. Throws when the response was cut: a whole one ends with an empty line. */
  end(): void {
    if (!this.#ended || this.#rest.length > 0) throw new BrokenResponse("The response stops before its end");
  }

  /** Takes whole lines. */
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
