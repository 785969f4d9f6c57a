import { statSync } from "node:fs";
import { StartError } from "../../errors.js";
import { CsvReader, type CsvRecord } from "../../formats/csv.js";
import type { Precision } from "../../formats/line-protocol.js";
import { type Line, lineIssues } from "../../formats/line-splitter.js";
import type { Series } from "../../metrics/series.js";
import { instantIssue, writeWindow } from "../../metrics/writable-points.js";
import { megabytes, Progress } from "../progress.js";
import { origin, type Rejections } from "../rejections.js";
import { InterruptedError, UsageError } from "../run-command.js";
import { csvRows, isCsvHeader, otherSeparator } from "./csv-rows.js";
import { fileLines } from "./file-lines.js";
import { jsonRows, lineRows, type Row, type RowDefaults, type RowReader } from "./rows.js";
import type { SeriesNumbers } from "./series-numbers.js";
import type { SlotFold } from "./slot-fold.js";

export interface ReadFilesParts {
  readonly files: readonly string[];
  readonly defaults: RowDefaults;
  readonly precision: Precision;
  readonly now: number;
  readonly numbers: SeriesNumbers;
  readonly fold: SlotFold;
  readonly rejections: Rejections;
  readonly signal: AbortSignal;
}

/** Reads every file into the fold; answers how many points that were. Lines that are none are rejections. */
export async function readFiles(parts: ReadFilesParts): Promise<number> {
  const progress = new Progress("reading", { unit: "MB", total: sizeOf(parts.files), format: megabytes });
  parts.rejections.sayBy((line) => progress.say(line));
  try {
    return await readAll(parts, progress);
  } finally {
    progress.finish();
  }
}

async function readAll(parts: ReadFilesParts, progress: Progress): Promise<number> {
  const { files, signal } = parts;
  let before = 0;
  let points = 0;
  for (const [index, file] of files.entries()) {
    let bytes = 0;
    let reader: LineReader | undefined;
    for await (const lines of fileLines(file, (read) => (bytes = read))) {
      if (signal.aborted) throw new InterruptedError(`Stopped while reading ${file}; nothing has been sent`);
      reader ??= openReader(lines[0] as Line, file, index, parts);
      points += reader.take(lines);
      progress.update(before + bytes);
    }
    points += reader?.end() ?? 0;
    before += bytes;
  }
  progress.update(before);
  return points;
}

/** Bytes of all files; undefined when one of them is a stream. */
function sizeOf(files: readonly string[]): number | undefined {
  if (files.includes("-")) return undefined;
  return files.reduce((sum, file) => {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) throw new StartError(`${file}: there is no such file`);
    if (stat.isDirectory()) throw new StartError(`${file} is a folder, not a file`);
    return sum + stat.size;
  }, 0);
}

interface LineReader {
  take(lines: readonly Line[]): number;
  end(): number;
}

/** A reader for the format that the first line of a file shows. */
function openReader(first: Line, file: string, index: number, parts: ReadFilesParts): LineReader {
  const { defaults, precision, now } = parts;
  if (isCsvHeader(first.text)) {
    const rows = csvRows(first.text, defaults);
    if (typeof rows === "string") throw new UsageError(`${file}: ${rows}`);
    const reader = new CsvReader();
    const take = (records: readonly CsvRecord[]) =>
      takeRows(records, ({ cells }, row) => rows(cells, row), index, parts);
    let header = 1;
    return {
      take(lines) {
        const points = take(reader.push(lines.slice(header)));
        header = 0;
        return points;
      },
      end: () => take(reader.end()),
    };
  }
  const separator = otherSeparator(first.text);
  if (separator !== undefined) {
    throw new UsageError(`${file}: its columns are separated by ${separator}; CSV is read with commas`);
  }
  const isJson = first.text.trimStart().startsWith("{");
  const rows = isJson ? jsonRows(defaults) : lineRows(defaults, precision, now);
  const isComment = (line: Line) => !isJson && line.text.trimStart().startsWith("#");
  return {
    take: (lines) =>
      takeRows(
        lines.filter((line) => !isComment(line)),
        ({ text }, row) => rows(text, row),
        index,
        parts,
      ),
    end: () => 0,
  };
}

/** Folds the points that these lines or records are; returns how many. */
function takeRows<Source extends Pick<Line, "number" | "issue">>(
  sources: readonly Source[],
  read: RowReader<Source>,
  file: number,
  { numbers, fold, rejections, now }: ReadFilesParts,
): number {
  const row: Row = { dimension: undefined, dimension_id: undefined, dimension_type: undefined, value: 0, ms: 0 };
  const window = writeWindow(now, undefined);
  let points = 0;
  for (const source of sources) {
    const at = origin(file, source.number);
    const issue =
      source.issue === undefined ? read(source, row) : { code: source.issue, message: lineIssues[source.issue] };
    if (issue !== undefined) {
      rejections.add(at, issue);
      continue;
    }
    const number = numbers.find(row.dimension, row.dimension_id, row.dimension_type);
    if (typeof number !== "number") {
      rejections.add(at, { code: number.code, message: `${number.field}: ${number.message}` });
    } else if (!(row.ms >= window.from && row.ms <= window.to)) {
      rejections.add(at, instantIssue(row.ms, window));
    } else {
      const { slotMs } = (numbers.series[number] as Series).dimension;
      fold.add(number, Math.floor(row.ms / slotMs), row.value, row.ms, at);
      points += 1;
    }
  }
  return points;
}
