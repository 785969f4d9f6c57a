/**
 * Returns the current time, Unix ms. Passed to each part that needs it, so that only this file reads the system clock.
 */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/**
 * Returns a monotonic clock for arrivals: Unix ms that increase by at least 1/1024 ms, so the later of
 * two arrivals in one millisecond is larger. A double represents such a number exactly until the year 2248.
 */
export function monotonicClock(clock: Clock): Clock {
  let last = 0;
  return () => {
    last = Math.max(clock(), last + 1 / 1024);
    return last;
  };
}
