import { LRUCache } from "lru-cache";
import type { Epochs, ReadToken } from "../../metrics/cache/epochs.js";
import type { FetchedBatch } from "../../metrics/query/fetch-batch.js";

interface Answer {
  readonly body: Buffer;
  /** One a series. */
  readonly tokens: readonly ReadToken[];
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
  readonly #epochs: Pick<Epochs, "areCurrent">;
  readonly #answers: LRUCache<string, Answer>;

  /** At most `bytes` of them. */
  constructor(epochs: Pick<Epochs, "areCurrent">, bytes: number) {
    this.#epochs = epochs;
    this.#answers = new LRUCache<string, Answer>({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ body, tokens }, question) =>
        body.byteLength + question.length + ENTRY_BYTES * (1 + tokens.length),
    });
  }

  /** The answer that the question has at `now`, Unix ms. */
  get(question: string, now: number): Answer | undefined {
    const answer = this.#answers.get(question);
    if (answer === undefined) return undefined;
    if (now >= answer.since && now < answer.until && this.#epochs.areCurrent(answer.tokens)) return answer;
    this.#answers.delete(question);
    return undefined;
  }

  /** Keeps an answer as of `now`, if the same question can have it again. */
  keep(question: string, body: Buffer, batch: FetchedBatch, now: number): void {
    if (body.byteLength > LARGEST_BODY) return;
    let until = batch.standsUntil;
    const tokens: ReadToken[] = [];
    for (const answer of batch.series) {
      if ("issue" in answer || !answer.isCached) return;
      until = Math.min(until, answer.plan.standsUntil, answer.scheduledUntil);
      tokens.push(answer.token);
    }
    if (until > now) this.#answers.set(question, { body, tokens, since: now, until });
  }
}
