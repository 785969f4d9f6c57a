/** Runs work without arguments one at a time: calls during a run share its result, a later call starts a new run. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
