import { NotReached, untilAborted } from "./request.js";

/**
 * Yields the values of an NDJSON response as they arrive. Leaving the loop ends the response. Rejects with the reason
 * of the signal, and with `NotReached` when the response is aborted, also within a line.
 */
export async function* readLines<T>(response: Response, signal?: AbortSignal): AsyncGenerator<T, void, void> {
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await untilAborted(reader.read(), signal).catch((error) => {
        throw signal?.aborted ? signal.reason : new NotReached("The response broke off", { cause: error });
      });
      const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) if (line !== "") yield parsed<T>(line);
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The error omits the line, which may contain personal data. */
function parsed<T>(line: string): T {
  try {
    return JSON.parse(line) as T;
  } catch {
    throw new NotReached("The response broke off in the middle of a line");
  }
}

/**
 * Yields NDJSON bodies of the values, each with at most `most` lines and about `length` characters, and their number of
 * lines.
 */
export async function* linesOf(
  values: Iterable<unknown> | AsyncIterable<unknown>,
  most: number,
  length: number,
): AsyncGenerator<{ readonly body: string; readonly count: number }, void, void> {
  let lines: string[] = [];
  let held = 0;
  const body = () => ({ body: lines.join(""), count: lines.length });
  for await (const value of values) {
    const line = `${JSON.stringify(value)}\n`;
    if (lines.length > 0 && (lines.length === most || held + line.length > length)) {
      yield body();
      lines = [];
      held = 0;
    }
    lines.push(line);
    held += line.length;
  }
  if (lines.length > 0) yield body();
}
