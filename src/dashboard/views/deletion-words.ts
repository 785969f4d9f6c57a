import type { OpenReason } from "../../client/client.js";
import { count } from "../format.js";

/** A reason for which open requests wait. */
export type Waiting = OpenReason & { readonly problem: string };

/** Returns the reasons of requests that have failed or wait for another one; the others are in progress. */
export const waitingOf = (reasons: readonly OpenReason[]): Waiting[] =>
  reasons.filter((reason): reason is Waiting => reason.problem !== null);

/** `60 wait for crm: answered 500`, `1 waits: an earlier request is open`. */
export function waitingText({ problem, target, requests }: Pick<Waiting, "problem" | "target" | "requests">): string {
  const verb = `${count(requests)} ${requests === 1 ? "waits" : "wait"}`;
  return target !== null && problem.startsWith(`${target} `)
    ? `${verb} for ${target}: ${problem.slice(target.length + 1)}`
    : `${verb}: ${problem}`;
}
