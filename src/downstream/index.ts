import { ownStages } from "../deletions/deletion.js";
import type { DownstreamTarget } from "../deletions/ports.js";
import type { History, MembershipIndex } from "../entities/ports.js";
import { StartError } from "../errors.js";
import type { Failpoint } from "../failpoint.js";
import { type RemoteTarget, remoteTarget } from "./remote-target.js";
import { storeTarget } from "./store-target.js";

export interface DownstreamParts {
  readonly memberships: MembershipIndex;
  readonly history: History;
  /** `deletions.targets` of the settings. */
  readonly remote: readonly RemoteTarget[];
  readonly failpoint: Failpoint;
  /** Ends calls to remote targets, so that a stop need not wait for them. */
  readonly stopping?: AbortSignal;
}

/**
 * Every place that a deletion goes through after the live profile, in this order. Throws a `StartError` when two have one
 * name, or one the name of a stage: of two such the second would count as done with the first.
 */
export function downstreamTargets({
  memberships,
  history,
  remote,
  failpoint,
  stopping,
}: DownstreamParts): DownstreamTarget[] {
  const targets = [
    storeTarget("membership-index", memberships, failpoint),
    storeTarget("history-archive", history, failpoint),
  ];
  const reserved = new Set([...ownStages, ...targets.map(({ name }) => name)]);
  for (const target of remote) {
    const { name } = target;
    if (reserved.has(name)) throw new StartError(`deletions.targets is wrong: ${name} is a name that the service uses`);
    if (targets.some((other) => other.name === name))
      throw new StartError(`deletions.targets is wrong: two targets have the name ${name}`);
    targets.push(remoteTarget(target, failpoint, stopping));
  }
  return targets;
}
