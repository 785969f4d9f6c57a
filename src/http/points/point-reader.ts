import type { Limits } from "../../config/settings.js";
import { invalid, ServiceError } from "../../errors.js";
import { type Line, LineSplitter, lineIssues } from "../../formats/line-splitter.js";
import { type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";
import type { SlotColumn } from "../../metrics/series.js";
import { PointFold } from "../../metrics/slot-columns.js";
import { instantIssue, isInWindow, WritableSeries, type WriteWindow } from "../../metrics/writable-points.js";
import { type BodyParts, readBytes } from "../core/body.js";
import type { ApiContext } from "../core/route.js";
import { Issues } from "../core/validation.js";

export type WriteLimits = Pick<Limits, "write_body_bytes" | "line_bytes" | "batch_points" | "inflation">;

export interface PointsRead {
  readonly count: number;
  readonly columns: SlotColumn[];
}

/** Collects the points of one write, and what is wrong with them. */
export class PointReader {
  readonly series: WritableSeries;
  readonly fold = new PointFold();
  readonly issues = new Issues();
  readonly window: WriteWindow;
  readonly #most: number;
  #count = 0;

  constructor(series: WritableSeries, window: WriteWindow, limits: WriteLimits) {
    this.series = series;
    this.window = window;
    this.#most = limits.batch_points;
  }

  /** Points that were counted so far. */
  get counted(): number {
    return this.#count;
  }

  /** Counts points that the body has. Throws `too-large` when there are more than one write may have. */
  count(points: number): void {
    this.#count += points;
    if (this.#count > this.#most) throw new ServiceError("too-large", `More than ${this.#most} points in one write`);
  }

  /** The points, unless there are none or there are issues. */
  finish(): PointsRead {
    this.issues.throwIfAny(NOTHING_WRITTEN);
    if (this.#count === 0) throw invalid("empty", "", "There is no point to write");
    return { count: this.#count, columns: this.fold.columns() };
  }
}

/** Series that earlier requests named are known to later ones: about so many. */
const KNOWN_SERIES = 250_000;

/** Makes the reader of each request. One request has one object for each series that it names, also when it is the last that knows of it. */
export function pointReaders(limits: WriteLimits): (window: WriteWindow) => PointReader {
  let known = new WritableSeries();
  return (window) => {
    if (known.size >= KNOWN_SERIES) known = new WritableSeries();
    return new PointReader(known, window, limits);
  };
}

export const NOTHING_WRITTEN = "Nothing was written: the points are not all valid";

/** Memory that a point takes until it is written, bytes: it may be the only one of its series. */
const POINT_BYTES = 512;

/** Reserves memory for points that were read. */
export function reservePoints(points: number, memory: Reservation): void {
  if (POINT_BYTES * points > UNCOUNTED_BYTES) memory.reserve(POINT_BYTES * points);
}

/** Milliseconds that a body is parsed for before other requests run. */
const PARSE_MS = 10;

/** Pauses between two steps of parsing a body. Bodies are parsed one after another, so that what is read of one is in memory at a time. */
export function parsingPauses({ parsing }: BodyParts): () => Promise<void> | undefined {
  return parsing.pauses(PARSE_MS);
}

/** Lines that are split off at once, bytes: a few ms of work. */
const STEP_BYTES = 65_536;

/** Hands each line of a body to `take`, until there are as many issues as will be named. */
export async function readEachLine(
  ctx: ApiContext,
  { line_bytes, write_body_bytes }: WriteLimits,
  reader: PointReader,
  bodies: BodyParts,
  take: (text: string, number: number) => void,
): Promise<void> {
  const { issues } = reader;
  const { bytes, memory } = await readBytes(ctx, write_body_bytes, bodies);
  const pause = parsingPauses(bodies);
  for (const lines of splitLines(bytes, line_bytes)) {
    const before = reader.counted;
    for (const { number, text, issue } of lines) {
      if (issues.full) return;
      if (issue !== undefined) issues.add(issue, `line ${number}`, lineIssues[issue]);
      else take(text, number);
    }
    reservePoints(reader.counted - before, memory);
    await pause();
  }
}

function* splitLines(bytes: Buffer, lineBytes: number): Generator<readonly Line[]> {
  const splitter = new LineSplitter(lineBytes);
  for (let at = 0; at < bytes.length; at += STEP_BYTES) yield splitter.push(bytes.subarray(at, at + STEP_BYTES));
  yield splitter.end();
}

/** What an instant has to be: in the window, of a series whose slots are `slotMs` long. */
interface InstantRule {
  readonly window: WriteWindow;
  readonly slotMs: number;
}

const DIGITS = /^\d{1,16}$/;

/** The Unix ms that `ts` says, as a number or as the string that responses carry; NaN with an issue otherwise. */
export function readInstant(ts: unknown, { window, slotMs }: InstantRule, path: string, issues: Issues): number {
  const ms = typeof ts === "string" && DIGITS.test(ts) ? Number(ts) : ts;
  if (typeof ms !== "number" || !Number.isSafeInteger(ms)) {
    const code = ts === undefined || ts === null ? "required" : "bad_time";
    issues.add(code, path, "A whole number of Unix milliseconds is expected");
    return Number.NaN;
  }
  if (isInWindow(ms, slotMs, window)) return ms;
  const { code, message } = instantIssue(ms, window);
  issues.add(code, path, message);
  return Number.NaN;
}
