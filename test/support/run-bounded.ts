import { runInNewContext } from "node:vm";

/** Far above linear work on a megabyte on a busy machine, far below quadratic work on an idle one. */
const BOUND_MS = 30_000;

/** The result of synchronous work; throws when the work is still running after 30 s. */
export function runBounded<T>(work: () => T): T {
  return runInNewContext("work()", { work }, { timeout: BOUND_MS });
}
