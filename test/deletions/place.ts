import type { DeletionSubject, DownstreamTarget } from "../../src/deletions/ports.js";

/** A target of deletions that records its calls and whose responses a test sets. */
export function place(name: string, remote = true) {
  const state = {
    isUnreachable: false,
    isClean: true,
    erased: [] as DeletionSubject[],
    verified: [] as DeletionSubject[],
  };
  const target: DownstreamTarget = {
    name,
    remote,
    async erase(subject) {
      if (state.isUnreachable) throw new Error("unreachable");
      state.erased.push(subject);
    },
    async verify(subject) {
      if (state.isUnreachable) throw new Error("unreachable");
      state.verified.push(subject);
      return state.isClean;
    },
  };
  return Object.assign(state, { target });
}
