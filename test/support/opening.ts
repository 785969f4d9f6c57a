import { MemoryBudget, type Reservation } from "../../src/memory-budget.js";

/** Memory of a service of its own, for tests that count no damaged profiles. */
export function opening() {
  return { memory: new MemoryBudget(2 ** 30), damaged: () => {} };
}

/** The reservation of a request that never ends. */
export function endless(): Reservation {
  return opening().memory.open(() => {});
}
