import { LineSplitter } from "@influxdata/influxdb-client";
import { BrokenResponse } from "./errors.js";

/**
 * Cuts the CSV of a query's response, in pieces as they arrive, into rows of cells. Cells are cut by `split`, and by the client's `LineSplitter` only
 * where a line has quotes: csv-parse takes about twice as long.
 */
export class CsvRows<Columns> {
  readonly #columnsOf: (positionOf: (name: string) => number) => Columns;
  readonly #row: (cells: readonly string[], columns: Columns) => void;
  readonly #decoder = new TextDecoder();
  readonly #quoted = new LineSplitter();
  /** What has arrived of a line that has not ended. */
  #rest = "";
  /** Of the block that is being read; undefined between blocks. */
  #columns: Columns | undefined;
  /** The greatest position of a column that was asked for. */
  #last = 0;
  #ended = false;

  /** At each header `columnsOf` says where the columns stand; `row` gets each row, which has a cell at all of these positions. */
  constructor(
    columnsOf: (positionOf: (name: string) => number) => Columns,
    row: (cells: readonly string[], columns: Columns) => void,
  ) {
    this.#columnsOf = columnsOf;
    this.#row = row;
  }

  /** Throws when the server says that it failed, a column is absent, or a row is too short. */
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
    if (this.#ended) this.#columns = undefined;
    else if (line.startsWith("#")) return;
    else if (this.#columns === undefined) this.#columns = this.#header(line.split(","));
    else {
      const cells = line.includes('"') ? this.#quoted.splitLine(line) : line.split(",");
      if (cells.length <= this.#last) throw new BrokenResponse("The response has a row that is too short");
      this.#row(cells, this.#columns);
    }
  }

  #header(names: readonly string[]): Columns {
    if (names.includes("error")) throw new BrokenResponse("The server failed while it responded");
    this.#last = 0;
    return this.#columnsOf((name) => {
      const position = names.indexOf(name);
      if (position < 0) throw new BrokenResponse("The response lacks a column");
      this.#last = Math.max(this.#last, position);
      return position;
    });
  }
}
