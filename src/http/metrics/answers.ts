import type { Clock } from "../../clock.js";
import { ServiceError } from "../../errors.js";
import { type Epochs, TokenCache } from "../../metrics/cache/epochs.js";
import type { FetchedBatch, Reuse } from "../../metrics/query/fetch-batch.js";
import type { CountSeries } from "../../metrics/query/fetch-series.js";
import type { SeriesPlan } from "../../metrics/query/series-plan.js";
import { gzipFast, WORTH_GZIP } from "../response-body.js";
import { metricBody, metricTag } from "./series-json.js";

/** What is asked, by a text that no other question has. Dashboards that poll send the same bytes again and again. */
export interface Question {
  readonly text: string;
  /** Whether its answers have an ETag. */
  readonly tagged: boolean;
  /** Its series as of `now` (Unix ms), by these plans if it has come to them before. Rejects with `timed-out` when its caller has gone. */
  fetch(now: number, plans?: readonly SeriesPlan[]): Promise<FetchedBatch>;
}

/** A whole answer in JSON. */
export interface Answer {
  body(): Buffer;
  tag(): string;
  /** The same body, compressed once for all callers that take gzip; absent where that does not pay. */
  gzip?(): Promise<Buffer>;
}

export interface AnswersParts {
  readonly epochs: Epochs;
  readonly clock: Clock;
  /** Counts series that were answered without being fetched. */
  readonly count: CountSeries;
  /** What answers that are kept may take in memory. */
  readonly bytes: number;
}

/** No store is read for it, which is what its `is_cached` says. In [since, until), Unix ms, the question has it again. */
interface KeptAnswer extends Answer {
  /** One for each series, in order. */
  readonly plans: readonly SeriesPlan[];
  readonly since: number;
  readonly until: number;
  /** What its bodies take, and its series, roughly. */
  readonly bytes: number;
}

/** A fetch that is under way. */
interface Fetch {
  readonly number: number;
  readonly answer: Promise<FetchedAnswer>;
}

/** What a fetch came to, as of `since`. */
interface Found {
  readonly series: FetchedBatch["series"];
  readonly tagged: boolean;
  readonly since: number;
  readonly reuse: Reuse;
}

interface FetchedAnswer extends Answer {
  readonly series: number;
  readonly cached: number;
  /** What is kept of it, if anything is. */
  readonly kept: KeptAnswer | undefined;
}

/** An answer with longer values is not kept, bytes. */
const LONGEST = 1_048_576;

/** What a series takes in an answer besides its values, with its plan, roughly, bytes. */
const SERIES_BYTES = 1_300;

/** Whole answers, kept for as long as they are true. Equal questions at one time share one fetch. */
export class Answers {
  readonly #parts: AnswersParts;
  readonly #kept: TokenCache<KeptAnswer>;
  readonly #fetches = new Map<string, Fetch>();
  /** Fetches begun so far. */
  #begun = 0;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#kept = new TokenCache(parts.epochs, parts.bytes, ({ bytes }, text) => bytes + text.length);
  }

  /** The answer to a question, as true as if it were fetched now. Rejects as its fetch does. */
  to(question: Question): Answer | Promise<Answer> {
    return this.#known(question.text) ?? this.#fetched(question);
  }

  #known(text: string): Answer | undefined {
    const kept = this.#valid(text);
    if (kept !== undefined) this.#parts.count(kept.plans.length, kept.plans.length);
    return kept;
  }

  #valid(text: string): KeptAnswer | undefined {
    return inTime(this.#kept.get(text)?.value, this.#parts.clock());
  }

  /** Waits for a fetch that is under way. One that began before the question was asked counts only if what is kept of it is true by now. */
  async #fetched(question: Question): Promise<Answer> {
    const before = this.#begun;
    for (;;) {
      const fetch = this.#fetches.get(question.text);
      if (fetch === undefined) return this.#begin(question);
      const answer = await fetch.answer.catch(unlessGone);
      if (answer === undefined) continue;
      if (fetch.number <= before && (answer.kept === undefined || this.#valid(question.text) !== answer.kept)) continue;
      this.#parts.count(answer.series, answer.cached);
      return answer;
    }
  }

  #begin(question: Question): Promise<Answer> {
    this.#begun += 1;
    const answer = this.#make(question, this.#parts.clock());
    this.#fetches.set(question.text, { number: this.#begun, answer });
    const end = () => this.#fetches.delete(question.text);
    answer.then(end, end);
    return answer;
  }

  async #make({ text, tagged, fetch }: Question, now: number): Promise<FetchedAnswer> {
    const { series, reuse } = await fetch(now, inTime(this.#kept.last(text), now)?.plans);
    const cached = series.filter((one) => "plan" in one && one.isCached).length;
    const kept = reuse && this.#keep(text, { series, tagged, since: now, reuse });
    return {
      body: kept !== undefined && cached === series.length ? kept.body : once(() => metricBody(series)),
      tag: kept !== undefined && tagged ? kept.tag : once(() => metricTag(series, "json")),
      series: series.length,
      cached,
      kept,
    };
  }

  /** Keeps the answer that the question has from now on: nothing is read for it any more. */
  #keep(text: string, { series, tagged, since, reuse }: Found): KeptAnswer | undefined {
    const bytes = series.reduce((sum, one) => sum + ("plan" in one ? one.serialised.json.byteLength : 0), 0);
    if (bytes > Math.min(LONGEST, this.#parts.bytes)) return undefined;
    const body = cachedBody(series);
    const tag = tagged ? metricTag(series, "json") : "";
    const { token, until, plans } = reuse;
    const size = bytes + SERIES_BYTES * (1 + series.length);
    const answer = { body, tag: () => tag, plans, since, until, bytes: size };
    const gzip = once(async () => {
      const small = await gzipFast(body());
      this.#kept.keep(text, { value: { ...whole, bytes: size + small.byteLength }, token });
      return small;
    });
    const whole: KeptAnswer = bytes < WORTH_GZIP ? answer : { ...answer, gzip };
    this.#kept.keep(text, { value: whole, token });
    return whole;
  }
}

/** The body of an answer for which no store is read, joined when it is first sent: often the next write comes before. */
function cachedBody(series: FetchedBatch["series"]): () => Buffer {
  return once(() => metricBody(series.map((one) => ("plan" in one ? { ...one, isCached: true } : one))));
}

/** The answer, if its plans and its schedules are still as they were. */
function inTime(kept: KeptAnswer | undefined, now: number): KeptAnswer | undefined {
  return kept !== undefined && now >= kept.since && now < kept.until ? kept : undefined;
}

/** Undefined for a fetch that ended because its own caller has gone: the requests that wait for it fetch again. Throws every other error. */
function unlessGone(error: unknown): undefined {
  if (error instanceof ServiceError && error.kind === "timed-out") return undefined;
  throw error;
}

/** What it is made of is let go as soon as it is made. */
function once<T>(make: () => T): () => T {
  let source: (() => T) | undefined = make;
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: (source as () => T)() };
    source = undefined;
    return made.value;
  };
}
