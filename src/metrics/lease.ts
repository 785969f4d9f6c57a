/** `taken`: it was free. `renewed`: no other owner has held it since this owner took it. `refused`: another owner holds it. */
export type LeaseResult = "taken" | "renewed" | "refused";

/**
 * PORT. Takes or renews the lease `name` for `owner` from `now` until `until` (Unix ms), unless another owner holds it at `now`. A
 * lease that begins after `now` was taken by a clock that has since been set back, and is over. Any number of processes may
 * call at once: one of them gets it.
 */
export type Lease = (name: string, owner: string, now: number, until: number) => Promise<LeaseResult>;
