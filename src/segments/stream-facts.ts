/** Facts about the messages of a person in one stream, or in several. Event times, whole Unix ms. */
export interface StreamFacts {
  readonly count: number;
  /** Infinity without a message. */
  readonly first: number;
  /** Newest event times, newest first: at least one of a message, and the number that rules need (see `RuleSet`). */
  readonly newest: readonly number[];
}

/** Facts without a message: each one is a part of another message, and does not count for the stream. */
export const noFacts: StreamFacts = { count: 0, first: Number.POSITIVE_INFINITY, newest: [] };

/** Returns the facts about one message: an event time may have parts of a ms, which no rule distinguishes. */
export function factsOfMessage(time: number): StreamFacts {
  const ms = Math.floor(time);
  return { count: 1, first: ms, newest: [ms] };
}

/** Returns the facts about the messages of both, with at most `times` of the newest event times. */
export function unitedFacts(a: StreamFacts, b: StreamFacts, times: number): StreamFacts {
  return {
    count: a.count + b.count,
    first: Math.min(a.first, b.first),
    newest: [...a.newest, ...b.newest].sort((one, other) => other - one).slice(0, times),
  };
}
