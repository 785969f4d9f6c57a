/** Facts about the messages of a person in one stream, or in several. Event times, Unix ms. */
export interface StreamFacts {
  /** At least 1. */
  readonly count: number;
  readonly first: number;
  /** Newest event times, newest first: at least one, and the number that rules need (see `RuleSet`). */
  readonly newest: readonly number[];
}

/** Returns the facts about the messages of both, with at most `times` of the newest event times. */
export function unitedFacts(a: StreamFacts, b: StreamFacts, times: number): StreamFacts {
  return {
    count: a.count + b.count,
    first: Math.min(a.first, b.first),
    newest: [...a.newest, ...b.newest].sort((one, other) => other - one).slice(0, times),
  };
}
