import { splitLines } from "../../formats/line-splitter.js";
import { isCounted } from "../../metrics/dimensions.js";
import { type Series, seriesKey } from "../../metrics/series.js";
import {
  instantIssue,
  isSeries,
  type SeriesIssue,
  writableSeries,
  writeWindow,
} from "../../metrics/writable-points.js";
import { fileChunks, LINE_BYTES } from "../input-file.js";
import { type Message, openCsv, peekLine, readJson, unreadable } from "../message-file.js";
import { megabytes } from "../progress.js";
import { InterruptedError, UsageError } from "../run-command.js";
import { origin, type Rejections, type Sending } from "../send-files.js";
import { csvRows, formatOfLine, jsonRows, lineRows, type PointOptions, type Row, type RowReader } from "./rows.js";
import type { Aggregation, SlotAggregator } from "./slot-aggregator.js";

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
      try {
        const chunks = fileChunks(file, (read) => (bytes = read));
        for await (const some of pointsOf(file, index, chunks, { ...reading, rejections })) {
          signal.throwIfAborted();
          points += some;
          progress.update(before + bytes);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
        throw new InterruptedError(`Stopped while reading ${file}; nothing has been sent`, { cause: error });
      }
      before += bytes;
    }
    progress.update(before);
    return points;
  });
}

interface ReaderDependencies extends ReadFilesInput {
  readonly rejections: Rejections;
}

/**
 * Aggregates the points of a file and yields the number of those in each part of it. Without a format in the options
 * the first line decides.
 */
async function* pointsOf(
  file: string,
  index: number,
  chunks: AsyncGenerator<Buffer>,
  parts: ReaderDependencies,
): AsyncGenerator<number> {
  const { options, now } = parts;
  const start = await peekLine(chunks);
  const format = options.format ?? formatOfLine(start.line);
  if (format === "csv") {
    const read = csvRows(start.line, options);
    if (typeof read === "string") throw new UsageError(`${file}: ${read}`);
    const { rows } = await openCsv(start.chunks);
    for await (const records of rows) yield takeRows(records, ({ cells }, row) => read(cells, row), index, parts);
  } else if (format === "ndjson") {
    const read = jsonRows(options);
    for await (const lines of readJson(file, start))
      yield takeRows(lines, ({ text }, row) => read(text, row), index, parts);
  } else {
    const read = lineRows(options, now);
    for await (const lines of splitLines(start.chunks, LINE_BYTES)) {
      const points = lines.filter(({ text }) => !text.trimStart().startsWith("#"));
      yield takeRows(points, ({ text }, row) => read(text, row), index, parts);
    }
  }
}

/** Aggregates the points of these lines or records and returns their number. */
function takeRows<Source extends Omit<Message, "text">>(
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
    const issue = unreadable(source) ?? read(source, row);
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
  /** Numbers by the names of a series. */
  readonly #numbers = new Map<string, number>();

  /** `aggregation` applies to every series; without it, counts are summed and other values keep the last. */
  constructor(aggregation: Aggregation | undefined) {
    this.#aggregation = aggregation;
  }

  /** Returns the number of a writable series, or the issue with its names. */
  find(dimension: unknown, id: unknown, type: unknown): number | SeriesIssue {
    const names = [dimension, id, type];
    const known = names.every(isText) ? this.#numbers.get(names.join("\0")) : undefined;
    if (known !== undefined) return known;
    const found = writableSeries(dimension, id, type);
    if (!isSeries(found)) return found;
    const number = this.#numbers.get(seriesKey(found)) ?? this.#add(found);
    this.#numbers.set(names.join("\0"), number);
    return number;
  }

  #add(series: Series): number {
    const number = this.series.length;
    this.series.push(series);
    this.aggregations.push(this.#aggregation ?? (isCounted(series) ? "sum" : "last"));
    this.#numbers.set(seriesKey(series), number);
    return number;
  }
}

const isText = (name: unknown) => typeof name === "string";
