/**
 * Returns the current time, Unix ms. Passed to each part that needs it, so that only this file reads the system clock.
 */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** The least difference of two arrivals, ms. A double represents its half exactly until the year 2109. */
export const ARRIVAL_STEP_MS = 1 / 1024;

/**
 * Returns a monotonic clock for arrivals: Unix ms that increase by at least `ARRIVAL_STEP_MS`, so the later of two
 * arrivals in one millisecond is larger.
 */
export function monotonicClock(clock: Clock): Clock {
  let last = 0;
  return () => {
    last = Math.max(clock(), last + ARRIVAL_STEP_MS);
    return last;
  };
}
