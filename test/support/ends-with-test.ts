let isTesting = false;
/** Ends of what the running test has begun, in the order of the beginnings. */
let ends: (() => Promise<unknown>)[] = [];

/**
 * Returns the same end, which runs once: when it is called, or after the test that has begun what it ends, in its own
 * hooks or itself. What a hook of a suite begins, a hook of the suite ends.
 */
export function endsWithTest<T>(end: () => Promise<T>): () => Promise<T> {
  let ended: Promise<T> | undefined;
  const once = () => {
    ended ??= end();
    return ended;
  };
  if (isTesting) ends.push(once);
  return once;
}

export function beginTest(): void {
  isTesting = true;
}

/** Ends what began last first. */
export async function endTest(): Promise<void> {
  isTesting = false;
  const all = ends.toReversed();
  ends = [];
  for (const end of all) await end();
}
