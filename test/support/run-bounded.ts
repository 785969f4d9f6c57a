import { runInNewContext } from "node:vm";

/** Far above what linear work on a megabyte takes on a busy machine, far below what quadratic work takes on an idle one. */
const BOUND_MS = 30_000;

/** The result of synchronous work; throws when the work is still running after 30 s. */
export function runBounded<T>(work: () => T): T {
  return runInNewContext("work()", { work }, { timeout: BOUND_MS });
}
