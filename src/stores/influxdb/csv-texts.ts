import { LineSplitter } from "@influxdata/influxdb-client";
import { BrokenResponse } from "./errors.js";

/** Reads the column `_value` of the CSV of a query's response, in pieces as they arrive, as texts. */
export class CsvTexts {
  readonly #give: (texts: readonly string[]) => void;
  readonly #decoder = new TextDecoder();
  readonly #quoted = new LineSplitter();
  /** What has arrived of a line that has not ended. */
  #rest = "";
  /** Where the column stands; undefined between blocks. */
  #position: number | undefined;
  #ended = false;

  /** `give` gets the texts of each piece, in order. */
  constructor(give: (texts: readonly string[]) => void) {
    this.#give = give;
  }

  take(piece: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    this.#give(lines.flatMap((line) => this.#text(line.endsWith("\r") ? line.slice(0, -1) : line)));
  }

  /** To be called after the last piece. Throws when the response was cut: a whole one ends with an empty line, or is empty. */
  end(): void {
    if (!this.#ended || this.#rest !== "") throw new BrokenResponse("The response stops before its end");
  }

  /** The text of a row; nothing of another line. */
  #text(line: string): string | [] {
    this.#ended = line === "";
    if (this.#ended) this.#position = undefined;
    else if (this.#position === undefined) this.#position = positionIn(line.split(","));
    else {
      const cell = (line.includes('"') ? this.#quoted.splitLine(line) : line.split(","))[this.#position];
      if (cell === undefined) throw new BrokenResponse("The response has a row that is too short");
      return cell;
    }
    return [];
  }
}

function positionIn(header: readonly string[]): number {
  if (header.includes("error")) throw new BrokenResponse("The server failed while it responded");
  const position = header.indexOf("_value");
  if (position < 0) throw new BrokenResponse("The response lacks a column");
  return position;
}
