import { type Background, inBackground } from "../async/retry.js";
import type { Clock } from "../clock.js";
import { REMEMBERED_MS } from "../entities/ports.js";
import type { Facts } from "../facts.js";
import type { Log } from "../log.js";
import { NOTIFICATION, remoteNames } from "./deletion.js";
import type { DownstreamTarget, Ledger, Webhook } from "./ports.js";
import { advanceWatermark } from "./replay.js";

export interface MaintenanceDependencies {
  readonly ledger: Pick<Ledger, "settledSequence" | "expire" | "clearOtherTargets">;
  readonly targets: readonly DownstreamTarget[];
  readonly webhook: Webhook | undefined;
  readonly facts: Pick<Facts, "number" | "raise">;
  readonly clock: Clock;
  readonly log: Log;
  /** Requests expire this many ms after their completion, at least `REMEMBERED_MS`; undefined: never. */
  readonly retentionMs: number | undefined;
}

const EVERY_MS = 10_000;

/**
 * Keeps the data's watermark close to the ledger, so that a start has little to replay, expires old requests, and lets
 * requests fail whose remote target is no longer configured.
 */
export function maintainLedger(dependencies: MaintenanceDependencies): Background {
  const { ledger, targets, webhook, clock, log, retentionMs } = dependencies;
  const maintain = async () => {
    await ledger.clearOtherTargets([...remoteNames(targets), NOTIFICATION]);
    await advanceWatermark(dependencies);
    // If no webhook is configured, a pending notification is removed with its request.
    if (retentionMs === undefined) return;
    // A repeated request finds the deletions of its first run.
    await ledger.expire(clock() - Math.max(retentionMs, REMEMBERED_MS), webhook !== undefined);
  };
  return inBackground(async () => {
    await maintain().catch((error: unknown) =>
      log.warn({ err: error }, "deletion ledger maintenance failed; retrying"),
    );
    return EVERY_MS;
  });
}
