import type { Lease } from "../../metrics/ports.js";

/** Leases in memory: only one process uses the files, so its leases end with it. */
export function sqliteLease(): Lease {
  const leases = new Map<string, { readonly owner: string; readonly since: number; readonly until: number }>();
  return async (name, owner, now, until) => {
    const last = leases.get(name);
    if (last !== undefined && last.owner !== owner && now >= last.since && now < last.until) return "refused";
    leases.set(name, { owner, since: now, until });
    return last?.owner === owner ? "renewed" : "taken";
  };
}
