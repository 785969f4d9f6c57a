import type { DownstreamTarget } from "../deletions/downstream-target.js";
import type { History } from "../entities/history.js";
import type { MembershipIndex } from "../entities/membership-index.js";
import type { Failpoint } from "../failpoint.js";
import { historyArchiveTarget } from "./history-archive.js";
import { membershipIndexTarget } from "./membership-index.js";
import { type RemoteTarget, remoteTarget } from "./remote-target.js";

export interface DownstreamParts {
  readonly memberships: MembershipIndex;
  readonly history: History;
  /** `deletions.targets` of the settings. */
  readonly remote: readonly RemoteTarget[];
  readonly failpoint: Failpoint;
  /** Ends calls to remote targets, so that a stop need not wait for them. */
  readonly stopping?: AbortSignal;
}

/** Every place that a deletion goes through after the live profile, in this order. */
export function downstreamTargets({
  memberships,
  history,
  remote,
  failpoint,
  stopping,
}: DownstreamParts): DownstreamTarget[] {
  return [
    membershipIndexTarget(memberships, failpoint),
    historyArchiveTarget(history, failpoint),
    ...remote.map((target) => remoteTarget(target, failpoint, stopping)),
  ];
}
