import type { Clock } from "../clock.js";
import type { Failpoint } from "../failpoint.js";
import { timeText } from "../formats/instant.js";
import type { Log } from "../log.js";
import { type CompletedDeletion, NOTIFICATION, retryDelay } from "./deletion.js";
import type { DeletionObserver } from "./observe.js";
import { type DeletionProgress, type Ledger, TargetError, type Webhook } from "./ports.js";
import { receiptClaims } from "./receipt.js";
import type { LeasedDeletion, RunResult } from "./run.js";

export interface NotificationDependencies {
  readonly ledger: Pick<Ledger, "release" | "wakeWaitingFor">;
  readonly webhook: Webhook | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: Pick<DeletionObserver, "failed">;
  readonly failpoint: Failpoint;
}

/**
 * Sends the notification of a leased, completed request. Sends it again when the process dies before it stores the
 * delivery, and after a failure, at the times at which remote targets are retried. A run that must not call the webhook
 * leaves the notification to another run.
 */
export async function runNotification(
  { ledger, webhook, clock, log, observer, failpoint }: NotificationDependencies,
  { deletion, runner, target }: LeasedDeletion & { readonly deletion: CompletedDeletion },
): Promise<RunResult> {
  const { requestId } = deletion;
  const release = (progress: Partial<DeletionProgress>, waitMs = 0) => {
    const notBefore = clock() + waitMs;
    return ledger.release(requestId, runner, { ...deletion, nextTarget: NOTIFICATION, ...progress, notBefore });
  };

  if (webhook === undefined || target !== NOTIFICATION) {
    await release({});
    return { next: NOTIFICATION };
  }
  try {
    failpoint("notification-begun");
    const body = { request_id: requestId, completed_at: timeText(deletion.completedAt) };
    await webhook.send(body, receiptClaims(deletion));
    failpoint("notification-sent");
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    const attempts = deletion.attempts + 1;
    await release({ attempts, problem: error.message }, retryDelay(attempts, true));
    observer.failed(NOTIFICATION);
    log.warn({ request: requestId, problem: error.message, attempts }, "a notification failed; retrying later");
    return { failed: true };
  }
  await release({ notify: false, attempts: 0, problem: undefined, nextTarget: undefined });
  if (deletion.attempts > 0) await ledger.wakeWaitingFor(NOTIFICATION);
  log.info({ request: requestId }, "the notification of a deletion is delivered");
  return {};
}
