/** Does the work when it is first asked for; every later call gets the same result. A failure is not kept. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}

/** Calls that come while the work is done share its result; a later call begins anew. */
export function whileUnderWay<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
