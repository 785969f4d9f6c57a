import type { Deletion, Followers, WaitingDeletion } from "./deletion.js";

/**
 * Returns the followers among the requests that wait for `first` (`waiting`, in order of acceptance): those whose
 * profiles are all erased by it. A request over other profiles or identities runs by itself, and later requests over
 * its identities wait for it.
 */
export function followersOf(
  first: Pick<Deletion, "entities" | "hashes">,
  waiting: readonly WaitingDeletion[],
  isOwnTarget: (name: string) => boolean,
): Followers {
  const [entities, hashes] = [new Set(first.entities), new Set(first.hashes)];
  const completed: WaitingDeletion[] = [];
  const freed: WaitingDeletion[] = [];
  for (const next of waiting) {
    if (next.entities.every((id) => entities.has(id)) && next.hashes.every((hash) => hashes.has(hash))) {
      (next.targets.every(isOwnTarget) ? completed : freed).push(next);
    } else for (const hash of next.hashes) hashes.delete(hash);
  }
  return { completed, freed };
}
