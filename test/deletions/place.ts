import type { DeletionSubject, DownstreamTarget } from "../../src/deletions/ports.js";

/** A target of deletions that records its calls and whose responses a test sets. */
export function place(name: string, remote = true) {
  let responding = Promise.resolve();
  let respond = () => {};
  const state = {
    isUnreachable: false,
    isClean: true,
    /** Request ids of the calls of `erase`, failed ones too. */
    calls: [] as string[],
    erased: [] as DeletionSubject[],
    verified: [] as DeletionSubject[],
    /** Leaves calls without a response. */
    hang() {
      responding = new Promise((resolve) => {
        respond = resolve;
      });
    },
    /** Responds again, also to calls in progress. */
    answer() {
      respond();
      responding = Promise.resolve();
    },
  };
  const target: DownstreamTarget = {
    name,
    remote,
    async erase(subject) {
      state.calls.push(subject.requestId);
      await responding;
      if (state.isUnreachable) throw new Error("unreachable");
      state.erased.push(subject);
    },
    async verify(subject) {
      await responding;
      if (state.isUnreachable) throw new Error("unreachable");
      state.verified.push(subject);
      return state.isClean;
    },
  };
  return Object.assign(state, { target });
}
