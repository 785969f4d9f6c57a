/**
 * Keeps writers of points and the recorder of one process apart, so that a slot which the recorder has seen empty is still
 * empty when it writes. Writers of points run beside one another.
 *
 * Between processes nothing does this. There the recorder claims a slot before it looks whether it is empty, and a writer of
 * points takes claims away before its write and again after it, so that one of them learns of the other: a writer that
 * finds a new claim after its write writes again, and a recorder that finds its claim taken away after its own write puts
 * back the value that was kept with it. What stands in the end is what was written through points.
 *
 * What remains: until the recorder has looked again, readers may see its value, for the milliseconds that this takes or, when
 * it fails or dies right after its write, until the next recorder ticks. And a recorder that sleeps between look and write for
 * longer than its lease, while another finishes its claims, leaves its value for good if it then dies after that late write.
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
