import { isUtf8 } from "node:buffer";

/** One line of a text, without its end. */
export interface Line {
  /** Counted from 1, blank lines too. */
  readonly number: number;
  /** Empty if there is an `issue`. In lines for CSV invalid bytes are replaced, so that quotes can be counted. */
  readonly text: string;
  readonly issue?: "too_long" | "not_utf8";
}

/** The message of each issue, for people. */
export const lineIssues: Readonly<Record<NonNullable<Line["issue"]>, string>> = {
  too_long: "The line is too long",
  not_utf8: "The line is not valid UTF-8",
};

export interface LineOptions {
  /** Keeps blank lines, and the carriage return of a line end: they may be part of a quoted cell. */
  readonly forCsv?: boolean;
}

const NEWLINE = 10;

/** At the start of a text it marks UTF-8 and belongs to no line. */
const BYTE_ORDER_MARK = "\ufeff";

/** Yields the lines that end in each chunk of a text, and the line after the last line end: see `LineSplitter`. */
export async function* splitLines(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  lineBytes: number,
  options?: LineOptions,
): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(lineBytes, options);
  for await (const chunk of chunks) {
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.end();
  if (rest.length > 0) yield rest;
}

/**
 * Splits bytes into lines, in memory of one chunk and one line, whatever the text's length. A line of more than
 * `lineBytes`, or of invalid UTF-8, becomes an issue; following lines are not affected. Blank lines are skipped, and a
 * line end is LF or CR LF, unless the lines are for CSV.
 */
export class LineSplitter {
  readonly #lineBytes: number;
  readonly #forCsv: boolean;
  /** Bytes of an unfinished line, and their number (bytes of an overlong line are not kept). */
  #open: Buffer[] = [];
  #openBytes = 0;
  #number = 0;

  constructor(lineBytes: number, { forCsv = false }: LineOptions = {}) {
    this.#lineBytes = lineBytes;
    this.#forCsv = forCsv;
  }

  /** Returns the lines that end in this chunk. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    if (this.#openBytes > 0) {
      const end = chunk.indexOf(NEWLINE);
      this.#keep(end < 0 ? chunk : chunk.subarray(0, end));
      if (end < 0) return lines;
      this.#closeOpen(lines);
      start = end + 1;
    }
    const last = chunk.lastIndexOf(NEWLINE);
    if (last >= start) {
      this.#addAll(chunk.subarray(start, last), lines);
      start = last + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Returns the line after the last line end, if there is one. */
  end(): Line[] {
    const lines: Line[] = [];
    if (this.#openBytes > 0) this.#closeOpen(lines);
    return lines;
  }

  #keep(bytes: Buffer): void {
    this.#openBytes += bytes.length;
    if (this.#openBytes > this.#lineBytes + 1) this.#open = [];
    else if (bytes.length > 0) this.#open.push(bytes);
  }

  #closeOpen(lines: Line[]): void {
    if (this.#openBytes > this.#lineBytes + 1) lines.push({ number: ++this.#number, text: "", issue: "too_long" });
    else this.#addOne(this.#open.length === 1 ? (this.#open[0] as Buffer) : Buffer.concat(this.#open), lines);
    this.#open = [];
    this.#openBytes = 0;
  }

  /** Adds every line of a run of complete lines, with a fast path for the usual case. */
  #addAll(bytes: Buffer, lines: Line[]): void {
    if (isUtf8(bytes)) for (const text of bytes.toString("utf8").split("\n")) this.#addText(text, lines);
    else this.#addEach(bytes, lines);
  }

  #addEach(bytes: Buffer, lines: Line[]): void {
    for (let start = 0; start <= bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, start);
      const end = newline < 0 ? bytes.length : newline;
      this.#addOne(bytes.subarray(start, end), lines);
      start = end + 1;
    }
  }

  #addOne(bytes: Buffer, lines: Line[]): void {
    if (isUtf8(bytes)) this.#addText(bytes.toString("utf8"), lines);
    else lines.push({ number: ++this.#number, text: this.#forCsv ? bytes.toString() : "", issue: "not_utf8" });
  }

  #addText(raw: string, lines: Line[]): void {
    const number = ++this.#number;
    const start = number === 1 && raw.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
    const text = raw.slice(start, raw.endsWith("\r") && !this.#forCsv ? -1 : undefined);
    if (text.length * 3 > this.#lineBytes && Buffer.byteLength(text) > this.#lineBytes) {
      lines.push({ number, text: "", issue: "too_long" });
    } else if (this.#forCsv || text.trim() !== "") {
      lines.push({ number, text });
    }
  }
}
