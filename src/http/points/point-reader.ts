import { yieldWhenDue } from "../../async/yielding.js";
import { type CacheMemory, SharedCache } from "../../cache-memory.js";
import type { Limits } from "../../config/settings.js";
import { invalid, ServiceError } from "../../errors.js";
import { type JsonArray, startOf } from "../../formats/json-array.js";
import { lineIssues, splitLines } from "../../formats/line-splitter.js";
import type { Reservation } from "../../memory-budget.js";
import type { Series } from "../../metrics/series.js";
import { instantIssue, isInWindow, type NamedSeries, type WriteWindow } from "../../metrics/writable-points.js";
import { MAX_LINE_BYTES, readBytes } from "../core/body.js";
import { parseElements } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";
import { Issues } from "../core/validation.js";

export type WriteLimits = Pick<Limits, "write_body_bytes" | "batch_points">;

/** Collects valid points. */
export interface PointSink {
  /** `ns` and `source` matter for added points: see `AddedPoint`. */
  add(series: Series, ms: number, value: number, ns?: number, source?: number): void;
  /** Adds a value or null for each of these times. */
  addRow(series: Series, times: readonly number[], row: readonly (number | null)[]): void;
}

/** Rules for the points of a write, and their collector. */
export interface WriteMode<S extends PointSink = PointSink> {
  newSink(): S;
  readonly window: WriteWindow;
  /** Whether points may have a source of their own. */
  readonly hasSources: boolean;
}

/** Series that earlier writes named, by text. */
export interface SeriesCaches {
  /** The series of the part of a point or line that names it. */
  readonly heads: SharedCache<NamedSeries>;
  /** The series of the lists of blocks. */
  readonly lists: SharedCache<readonly Series[]>;
}

/** Collects the points of one write and their issues. */
export class PointReader<S extends PointSink = PointSink> {
  readonly heads: SeriesCaches["heads"];
  readonly lists: SeriesCaches["lists"];
  readonly issues = new Issues();
  readonly window: WriteWindow;
  readonly hasSources: boolean;
  readonly newSink: () => S;
  /** Receives the points. A new sink forgets the points received so far. */
  sink: S;
  readonly #most: number;
  #count = 0;

  constructor({ heads, lists }: SeriesCaches, { newSink, window, hasSources }: WriteMode<S>, most: number) {
    this.heads = heads;
    this.lists = lists;
    this.window = window;
    this.hasSources = hasSources;
    this.newSink = newSink;
    this.sink = newSink();
    this.#most = most;
  }

  /** Points counted so far. */
  get counted(): number {
    return this.#count;
  }

  /** Counts points. Throws `too-large` when a write has too many. */
  count(points: number): void {
    this.#count += points;
    if (this.#count > this.#most) throw new ServiceError("too-large", `More than ${this.#most} points in one write`);
  }

  /** Returns the number of points, which the sink has. Throws when there are none or there are issues. */
  finish(): number {
    this.issues.throwIfAny(NOTHING_WRITTEN);
    if (this.#count === 0) throw invalid("empty", "", "The request has no points");
    return this.#count;
  }
}

/** Creates the factory of readers, which share the caches. */
export function pointReaders(
  { batch_points }: Pick<WriteLimits, "batch_points">,
  cache: CacheMemory,
): <S extends PointSink>(mode: WriteMode<S>) => PointReader<S> {
  const caches: SeriesCaches = { heads: new SharedCache(cache), lists: new SharedCache(cache) };
  return (mode) => new PointReader(caches, mode, batch_points);
}

/** Memory of a cached series besides its text, bytes. */
const SERIES_BYTES = 250;

/** Caches the series of a head, for which a point in the usual form is read without parsing its names. */
export function cacheHead({ heads }: PointReader, head: string, series: NamedSeries): void {
  // A copy: a slice of a request body would hold all of it in memory.
  heads.set(Buffer.from(head).toString(), series, SERIES_BYTES);
}

export const NOTHING_WRITTEN = "Nothing was written: the points are not all valid";

/** Memory of points until they are written, per byte of their text: each may be the only one of its series. */
const MEMORY_PER_BYTE = 5;

/** Maximum memory of a point until it is written, bytes: measured with 50,000 series whose ids have 256 characters. */
const MAX_POINT_BYTES = 920;

/**
 * Reserves memory for the points of a body of this length. A body of 16 MiB does not reserve five times its length: it
 * may be indented, or have long ids, but has no more points than a shorter one.
 */
export function reservePoints(bodyBytes: number, { batch_points }: WriteLimits, memory: Reservation): void {
  memory.reserveUnlessSmall(Math.min(MEMORY_PER_BYTE * bodyBytes, MAX_POINT_BYTES * batch_points));
}

/** Bytes parsed or split into lines at once: values of more outlive the young generation of the garbage collector. */
const RUN_BYTES = 32_768;

/**
 * Passes the parsed elements of a list to `read`, in runs, until the maximum of issues is reached. `path` is the place
 * of the list in the body; an element has at most `maxBytes`.
 */
export async function readElements(
  list: JsonArray,
  path: string,
  { issues }: PointReader,
  read: (element: unknown, index: number) => void,
  maxBytes = MAX_LINE_BYTES,
): Promise<void> {
  const { ends } = list;
  for (let from = 0; from < ends.length && !issues.full; ) {
    await yieldWhenDue();
    const start = startOf(list, from);
    let to = from;
    while (to + 1 < ends.length && (ends[to + 1] as number) - start <= RUN_BYTES) to += 1;
    if ((ends[to] as number) - start > maxBytes) {
      issues.add("too_long", `${path}[${from}]`, "The element is too long");
    } else {
      const elements = parseElements(list, from, to);
      for (let i = 0; i < elements.length && !issues.full; i += 1) read(elements[i], from + i);
    }
    from = to + 1;
  }
}

/** Passes each line of a body to `read` until the maximum of issues is reached. */
export async function readEachLine(
  ctx: ApiContext,
  limits: WriteLimits,
  reader: PointReader,
  read: (text: string, number: number) => void,
): Promise<void> {
  const { issues } = reader;
  const bytes = await readBytes(ctx, limits.write_body_bytes);
  reservePoints(bytes.length, limits, ctx.state.memory);
  for await (const lines of splitLines(runsOf(bytes), MAX_LINE_BYTES)) {
    for (const { number, text, issue } of lines) {
      if (issues.full) return;
      if (issue !== undefined) issues.add(issue, `line ${number}`, lineIssues[issue]);
      else read(text, number);
    }
    await yieldWhenDue();
  }
}

function* runsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += RUN_BYTES) yield bytes.subarray(at, at + RUN_BYTES);
}

/** Maximum characters of the source of an added point. */
export const MAX_SOURCE_LENGTH = 256;

/** A text that has the same UTF-8 bytes everywhere. */
const SOURCE = /^[^\p{Cc}\p{Cs}]*$/u;

/** Returns whether a value is a valid source of an added point. */
export function isSource(source: unknown): source is string {
  return typeof source === "string" && source.length <= MAX_SOURCE_LENGTH && SOURCE.test(source);
}

/** Rule for an instant: in the window of a series with slots of `slotMs`. */
interface InstantRule {
  readonly window: WriteWindow;
  readonly slotMs: number;
}

const DIGITS = /^\d{1,16}$/;

/** Returns the Unix ms of `ts`, a number or the string that responses contain; otherwise NaN and adds an issue. */
export function readInstant(ts: unknown, { window, slotMs }: InstantRule, path: string, issues: Issues): number {
  const ms = typeof ts === "string" && DIGITS.test(ts) ? Number(ts) : ts;
  if (typeof ms !== "number" || !Number.isSafeInteger(ms)) {
    if (ts === undefined || ts === null) issues.add("required", path, "ts is required");
    else issues.add("invalid_time", path, "ts must be a whole number of Unix milliseconds, such as 1767225600000");
    return Number.NaN;
  }
  if (isInWindow(ms, slotMs, window)) return ms;
  const { code, message } = instantIssue(ms, window);
  issues.add(code, path, message);
  return Number.NaN;
}
