import { setImmediate } from "node:timers/promises";
import { backoff } from "../async/retry.js";
import { type Deletion, stageOf } from "./deletion.js";
import type { DownstreamTarget, Ledger, WakeUp } from "./ports.js";

/** A request that waits for an earlier one is tried again after this many ms, if it is not woken before. */
export const WAIT_FOR_EARLIER_MS = 1000;

const FIRST_DELAY_MS = 250;
const LONGEST_OWN_DELAY_MS = 30_000;
const LONGEST_REMOTE_DELAY_MS = 15 * 60_000;

/** Ms to wait after that many failed attempts in a row at a stage: doubling, our own stores at most 30 s, a remote target at most 15 min. */
export function retryDelay(targets: readonly DownstreamTarget[], stage: string, attempts: number): number {
  const remote = targets.some(({ name, remote }) => remote && name === stage);
  return backoff(attempts + 1, FIRST_DELAY_MS, remote ? LONGEST_REMOTE_DELAY_MS : LONGEST_OWN_DELAY_MS);
}

/**
 * Ms that an open request still waits for its next try; 0 when it is due. No request waits longer than its attempts say: what is left of a
 * longer wait means that the clock has been set back since, and the wait is over.
 */
export function waitLeft(deletion: Deletion, targets: readonly DownstreamTarget[], now: number): number {
  const longestMs = Math.max(WAIT_FOR_EARLIER_MS, retryDelay(targets, stageOf(deletion), deletion.attempts));
  const waitMs = deletion.notBefore - now;
  return waitMs > 0 && waitMs <= longestMs ? waitMs : 0;
}

export interface WakeParts {
  readonly ledger: Pick<Ledger, "open" | "wake">;
  readonly wakeUp: Pick<WakeUp, "hint">;
}

const PAGE = 100;

/** A target works again: lets the other requests that wait for it run now. When many do, each of them comes here again, and finds none that waits. */
export async function wakeWaitingFor(parts: WakeParts, target: string, except: string): Promise<void> {
  let page: Deletion[] = [];
  do {
    page = await parts.ledger.open({ waiting: true, limit: PAGE, after: page.at(-1)?.requestId });
    const waiting = page.filter(
      (deletion) => deletion.attempts > 0 && deletion.requestId !== except && stageOf(deletion) === target,
    );
    await wake(
      parts,
      waiting.map(({ requestId }) => requestId),
    );
    await setImmediate();
  } while (page.length === PAGE);
}

/** Lets these requests run now, also the ones that wait for a later try. */
export async function wake({ ledger, wakeUp }: WakeParts, requestIds: readonly string[]): Promise<void> {
  if (requestIds.length === 0) return;
  await ledger.wake(requestIds);
  for (const requestId of requestIds) wakeUp.hint(requestId);
}
