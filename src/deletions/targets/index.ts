import type { Outbox } from "../../entities/outbox.js";
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
  readonly outbox: Pick<Outbox, "erase" | "holds">;
  /** Setting `deletions.targets`. */
  readonly remote: readonly RemoteTarget[];
  /** Systems of the setting `hooks`. */
  readonly hooks: readonly DownstreamTarget[];
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
  outbox,
  remote,
  hooks,
  failpoint,
  stopping,
}: TargetDependencies): DownstreamTarget[] {
  const targets = [
    ownStore("membership-index", memberships, failpoint),
    ownStore("history-archive", history, failpoint),
    ownStore("hook-outbox", outbox, failpoint),
  ];
  const reserved = new Set([...ownStages, ...targets.map(({ name }) => name)]);
  const others = [...remote.map((target) => remoteTarget(target, failpoint, stopping)), ...hooks];
  for (const target of others) {
    const { name, isTold } = target;
    const setting = isTold ? "hooks" : "deletions.targets";
    // Such as `constructor`: every object has it.
    if (reserved.has(name) || name in {}) throw new StartError(`${setting} is wrong: ${name} is a reserved name`);
    if (targets.some((other) => other.name === name))
      throw new StartError(`${setting} is wrong: two targets have the name ${name}`);
    targets.push(target);
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
