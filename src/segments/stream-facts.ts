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
    newest: newestOf(a.newest, b.newest, times),
  };
}

/** Most streams need one time: sorting takes longer than the rest of a message about them. */
function newestOf(a: readonly number[], b: readonly number[], times: number): readonly number[] {
  if (times === 1)
    return ((a[0] ?? Number.NEGATIVE_INFINITY) >= (b[0] ?? Number.NEGATIVE_INFINITY) ? a : b).slice(0, 1);
  return [...a, ...b].sort((one, other) => other - one).slice(0, times);
}
