import { LRUCache } from "lru-cache";
import type { FetchedBatch } from "../metrics/fetch-batch.js";
import type { FetchedSeries } from "../metrics/fetch-series.js";

interface Answer {
  readonly body: Buffer;
  readonly series: readonly FetchedSeries[];
  /** The same question has this answer in [since, until), Unix ms, as long as every series in it is current. */
  readonly since: number;
  readonly until: number;
}

/** A larger answer is joined from its parts about as fast as it is found again, bytes. */
const LARGEST_BODY = 131_072;

/** What a series takes in an answer, and an answer besides, roughly, bytes. */
const ENTRY_BYTES = 300;

/**
 * Answers by the very text of their question: dashboards that poll send the same bytes again and again. Holds only
 * answers for which no store was read, so that one that is found says the truth with `is_cached`.
 */
export class AnswerCache {
  readonly #answers: LRUCache<string, Answer>;

  /** At most `bytes` of them. */
  constructor(bytes: number) {
    this.#answers = new LRUCache<string, Answer>({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ body, series }, question) =>
        body.byteLength + question.length + ENTRY_BYTES * (1 + series.length),
    });
  }

  /** The answer that the question has at `now`, Unix ms. */
  get(question: string, now: number): Answer | undefined {
    const answer = this.#answers.get(question);
    if (answer === undefined) return undefined;
    if (now >= answer.since && now < answer.until && answer.series.every((one) => one.isCurrent())) return answer;
    this.#answers.delete(question);
    return undefined;
  }

  /** Keeps an answer as of `now`, if the same question can have it again. */
  keep(question: string, body: Buffer, batch: FetchedBatch, now: number): void {
    if (body.byteLength > LARGEST_BODY) return;
    let until = batch.standsUntil;
    const series: FetchedSeries[] = [];
    for (const answer of batch.series) {
      if ("problem" in answer || !answer.isCached) return;
      until = Math.min(until, answer.plan.standsUntil, answer.scheduledUntil);
      series.push(answer);
    }
    if (until > now) this.#answers.set(question, { body, series, since: now, until });
  }
}
