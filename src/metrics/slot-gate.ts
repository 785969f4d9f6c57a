/**
 * Keeps writers of points and the recorder of one process apart, so that a slot which the recorder has seen empty is still
 * empty when it writes. Writers of points run beside one another. Between processes nothing does this: there a point
 * written in the milliseconds between the recorder's look and its write can be covered by the recorder's value.
 */
export interface SlotGate {
  /** Runs `work` when the recorder is not writing. */
  points<T>(work: () => Promise<T>): Promise<T>;
  /** Runs `work` alone, once the writers that began before it are done; those that come later wait. */
  recorder<T>(work: () => Promise<T>): Promise<T>;
}

export function slotGate(): SlotGate {
  let closed: Promise<unknown> = Promise.resolve();
  const inside = new Set<Promise<unknown>>();

  return {
    points(work) {
      const run = closed.then(work);
      const quiet: Promise<unknown> = run.then(
        () => inside.delete(quiet),
        () => inside.delete(quiet),
      );
      inside.add(quiet);
      return run;
    },

    recorder(work) {
      const run = Promise.all([closed, ...inside]).then(work);
      closed = run.then(
        () => {},
        () => {},
      );
      return run;
    },
  };
}
