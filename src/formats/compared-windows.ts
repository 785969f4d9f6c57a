/**
 * Returns the first slot of the window before that a change of counts compares with the window: the one at `start`, or
 * the first one with a value if the series begins later. Slots before `start` only show that the series has begun: from
 * then on a slot without a value has no messages. Undefined if there is no value before `end`, the end of the window
 * before.
 */
export function firstCompared(values: ArrayLike<number | null>, start: number, end: number): number | undefined {
  for (let at = 0; at < Math.min(end, values.length); at += 1) {
    const value = values[at];
    if (value != null && !Number.isNaN(value)) return Math.max(at, start);
  }
  return undefined;
}
