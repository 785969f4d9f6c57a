import type { Line } from "./line-splitter.js";

/** Maximum length of a line, characters. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/** Replaces bytes that are no character of the encoding. */
const REPLACEMENT = "\ufffd";

/**
 * Yields the lines of a text as programs save it, blank ones too, in memory of one chunk and one line: UTF-8, or UTF-16
 * with a byte order mark; lines that end in LF, CR LF or CR. It runs in browsers too. A line with bytes that are no
 * character keeps its text, so that its quotes can be counted. The first chunk has at least two bytes.
 */
export async function* textLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let number = 0;
  let open = "";
  let isTooLong = false;
  const extend = (text: string) => {
    isTooLong ||= open.length + text.length > MAX_LINE_LENGTH;
    open = isTooLong ? "" : open + text;
  };
  const close = (): Line => {
    number += 1;
    const text = open;
    const issue = isTooLong ? "too_long" : text.includes(REPLACEMENT) ? "not_utf8" : undefined;
    open = "";
    isTooLong = false;
    return issue === undefined ? { number, text } : { number, text, issue };
  };
  let cr = "";
  for await (const chunk of chunks) {
    decoder ??= new TextDecoder(encodingOf(chunk));
    const text = cr + decoder.decode(chunk, { stream: true });
    // It ends a line, alone or with an LF in the next chunk.
    cr = text.endsWith("\r") ? "\r" : "";
    const [first = "", ...others] = text.slice(0, text.length - cr.length).split(/\r\n?|\n/);
    extend(first);
    const lines = others.map((other) => {
      const line = close();
      extend(other);
      return line;
    });
    if (lines.length > 0) yield lines;
  }
  extend(decoder?.decode() ?? "");
  if (open !== "" || isTooLong) yield [close()];
}

/** Returns the encoding of a text that starts with these bytes; its decoder removes the byte order mark. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}
