import type { History, MembershipIndex } from "../../entities/ports.js";
import type { EntityId } from "../../entities/profile/entity.js";
import { StartError } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import { ownStages } from "../deletion.js";
import type { DownstreamTarget } from "../ports.js";
import { type RemoteTarget, remoteTarget } from "./remote.js";

export interface TargetDependencies {
  readonly memberships: MembershipIndex;
  readonly history: History;
  /** Setting `deletions.targets`. */
  readonly remote: readonly RemoteTarget[];
  readonly failpoint: Failpoint;
  /** Aborts calls to remote targets, so that a stop does not wait for them. */
  readonly stopping?: AbortSignal;
}

/**
 * Returns the targets that follow the live profile, in order. Throws a `StartError` when two have the same name or one
 * has the name of a stage: the second would count as done with the first.
 */
export function downstreamTargets({
  memberships,
  history,
  remote,
  failpoint,
  stopping,
}: TargetDependencies): DownstreamTarget[] {
  const targets = [
    ownStore("membership-index", memberships, failpoint),
    ownStore("history-archive", history, failpoint),
  ];
  const reserved = new Set([...ownStages, ...targets.map(({ name }) => name)]);
  for (const target of remote) {
    const { name } = target;
    if (reserved.has(name)) throw new StartError(`deletions.targets is wrong: ${name} is a reserved name`);
    if (targets.some((other) => other.name === name))
      throw new StartError(`deletions.targets is wrong: two targets have the name ${name}`);
    targets.push(remoteTarget(target, failpoint, stopping));
  }
  return targets;
}

/** One of our own stores, which keeps data by entity id. */
export interface ErasableStore {
  /** Removes all data about these entities. Safe to repeat. */
  erase(ids: readonly EntityId[]): Promise<void>;
  /** Returns whether any data about these entities is stored. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}

/** Wraps a store as a target. */
export function ownStore(name: string, store: ErasableStore, failpoint: Failpoint): DownstreamTarget {
  return {
    name,
    remote: false,

    async erase({ entities }) {
      failpoint("target-begun");
      await store.erase(entities);
      failpoint("target-erased");
    },

    verify: async ({ entities }) => !(await store.holds(entities)),
  };
}
