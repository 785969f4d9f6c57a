import type { Clock } from "../clock.js";
import type { Meters } from "../meters.js";
import { NOTIFICATION } from "./deletion.js";
import type { Ledger } from "./ports.js";

/** Receives the events of deletions for `/metrics`. */
export interface DeletionObserver {
  /** A request was completed `tookMs` ms after its acceptance. */
  completed(tookMs: number): void;
  /** An attempt failed. The stage is `profile`, `verified`, `key`, `notification` or the name of a target. */
  failed(stage: string): void;
}

/** Registers the meters of deletions and returns the observer that updates them. */
export function observeDeletions(
  meters: Meters,
  ledger: Pick<Ledger, "count" | "list">,
  clock: Clock,
): DeletionObserver {
  meters.gauge("deletions_open", "Deletion requests that are not complete.", () => ledger.count("open"));
  meters.gauge("deletions_stuck", "Open deletion requests that keep failing.", () => ledger.count("stuck"));
  meters.gauge("deletion_notifications_pending", "Completed deletions whose notification is not delivered.", () =>
    ledger.count("completed", NOTIFICATION),
  );
  meters.gauge(
    "deletions_oldest_open_seconds",
    "Age of the oldest deletion request that is not complete; 0 without one.",
    async () => {
      const [oldest] = await ledger.list({ state: "open", newestFirst: false, limit: 1 });
      return oldest === undefined ? 0 : Math.max(0, clock() - oldest.acceptedAt) / 1000;
    },
  );
  const completed = meters.counter("deletions_completed_total", "Deletion requests completed by this process.");
  const seconds = meters.counter(
    "deletion_seconds_total",
    "Total time from acceptance to completion of these requests.",
  );
  const failed = meters.counter(
    "deletion_failures_total",
    "Failed attempts of deletion requests, by stage or target, and of their notifications.",
    "stage",
  );
  return {
    completed(tookMs) {
      completed();
      seconds(Math.max(0, tookMs) / 1000);
    },
    failed: (stage) => failed(1, stage),
  };
}
