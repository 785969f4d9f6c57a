import { CsvReader, type CsvRecord } from "../../formats/csv.js";
import { type Line, lineIssues } from "../../formats/line-splitter.js";
import { isCounted } from "../../metrics/dimensions.js";
import type { Series } from "../../metrics/series.js";
import {
  instantIssue,
  isSeries,
  type SeriesIssue,
  WritableSeries,
  writeWindow,
} from "../../metrics/writable-points.js";
import { fileLines } from "../input-file.js";
import { megabytes } from "../progress.js";
import { InterruptedError, UsageError } from "../run-command.js";
import { origin, type Rejections, type Sending } from "../send-files.js";
import { csvRows, formatOfLine, jsonRows, lineRows, type PointOptions, type Row, type RowReader } from "./rows.js";
import type { SlotAggregator } from "./slot-aggregator.js";
import type { Aggregation } from "./slot-table.js";

interface ReadFilesInput {
  readonly files: readonly string[];
  readonly options: PointOptions;
  readonly now: number;
  readonly numbers: SeriesNumbers;
  readonly aggregator: SlotAggregator;
}

/**
 * Reads every file into the aggregator and resolves with the number of points. Lines that are not points are rejected.
 */
export function readFiles(
  reading: ReadFilesInput,
  { stage, bytes: total, rejections, signal }: Sending,
): Promise<number> {
  return stage("reading", { unit: "MB", total, format: megabytes }, async (progress) => {
    let before = 0;
    let points = 0;
    for (const [index, file] of reading.files.entries()) {
      let bytes = 0;
      let reader: LineReader | undefined;
      try {
        for await (const lines of fileLines(file, (read) => (bytes = read))) {
          signal.throwIfAborted();
          reader ??= openReader(lines[0] as Line, file, index, { ...reading, rejections });
          points += reader.take(lines);
          progress.update(before + bytes);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
        throw new InterruptedError(`Stopped while reading ${file}; nothing has been sent`, { cause: error });
      }
      points += reader?.end() ?? 0;
      before += bytes;
    }
    progress.update(before);
    return points;
  });
}

interface ReaderDependencies extends ReadFilesInput {
  readonly rejections: Rejections;
}

interface LineReader {
  take(lines: readonly Line[]): number;
  end(): number;
}

/** Opens a reader for the format in the options; without one the first line decides. */
function openReader(first: Line, file: string, index: number, parts: ReaderDependencies): LineReader {
  const { options, now } = parts;
  const format = options.format ?? formatOfLine(first);
  if (format === "csv") {
    const rows = csvRows(first.text, options);
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
  const isJson = format === "ndjson";
  const rows = isJson ? jsonRows(options) : lineRows(options, now);
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

/** Aggregates the points of these lines or records and returns their number. */
function takeRows<Source extends Pick<Line, "number" | "issue">>(
  sources: readonly Source[],
  read: RowReader<Source>,
  file: number,
  { numbers, aggregator, rejections, now }: ReaderDependencies,
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
      aggregator.add(number, Math.floor(row.ms / slotMs), row.value, row.ms, at);
      points += 1;
    }
  }
  return points;
}

/** Assigns numbers from 0 to the series in the files, and the aggregation of each. */
export class SeriesNumbers {
  readonly series: Series[] = [];
  readonly aggregations: Aggregation[] = [];
  readonly #aggregation: Aggregation | undefined;
  readonly #writable = new WritableSeries();
  readonly #numbers = new Map<Series, number>();

  /** `aggregation` applies to every series; without it, counts are summed and other values keep the last. */
  constructor(aggregation: Aggregation | undefined) {
    this.#aggregation = aggregation;
  }

  /** Returns the number of a writable series, or the issue with its names. */
  find(dimension: unknown, id: unknown, type: unknown): number | SeriesIssue {
    const found = this.#writable.find(dimension, id, type);
    if (!isSeries(found)) return found;
    return this.#numbers.get(found) ?? this.#add(found);
  }

  #add(series: Series): number {
    const number = this.series.length;
    this.series.push(series);
    this.aggregations.push(this.#aggregation ?? (isCounted(series) ? "sum" : "last"));
    this.#numbers.set(series, number);
    return number;
  }
}
