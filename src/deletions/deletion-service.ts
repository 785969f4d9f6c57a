import type { Background } from "../async/retry.js";
import type { Clock } from "../clock.js";
import type { EntityKeys, EntityStore, History } from "../entities/ports.js";
import type { HashIdentity, Identity, IdentityHash } from "../entities/profile/identity.js";
import type { OpeningDependencies } from "../entities/read/open-profile.js";
import type { IdempotencyDependencies } from "../entities/requests/repeatable-run.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import type { MemoryBudget, Reservation } from "../memory-budget.js";
import { acceptDeletion } from "./accept.js";
import { type Acceptance, acceptMany, type ManyDeletions } from "./accept-many.js";
import { isCompleted, NOTIFICATION } from "./deletion.js";
import { maintainLedger } from "./maintain-ledger.js";
import { runNotification } from "./notify.js";
import type { DeletionObserver } from "./observe.js";
import type { DeletionWatermark, DownstreamTarget, DueNotifications, Ledger, Webhook } from "./ports.js";
import { type DeletionPreview, previewDeletion } from "./preview.js";
import { replayLedger } from "./replay.js";
import { runDeletion } from "./run.js";
import { scheduler } from "./scheduler.js";
import { expandScope } from "./scope.js";

export interface DeletionDependencies extends IdempotencyDependencies, OpeningDependencies {
  readonly ledger: Ledger;
  readonly entities: EntityStore;
  readonly entityKeys: EntityKeys;
  readonly watermark: DeletionWatermark;
  readonly history: Pick<History, "countByStream">;
  readonly dueNotifications: DueNotifications;
  /** In the order in which a request is erased from them. */
  readonly targets: readonly DownstreamTarget[];
  /** Undefined without the setting: pending notifications wait for its return. */
  readonly webhook: Webhook | undefined;
  readonly hashIdentity: HashIdentity;
  readonly memory: MemoryBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: DeletionObserver;
  readonly failpoint: Failpoint;
  /** Requests expire this many ms after their completion; undefined: never. */
  readonly retentionMs: number | undefined;
  /** Ms between polls of the ledger for due requests. */
  readonly pollMs: number;
}

/** Accepts, previews and runs deletions. */
export interface DeletionService {
  /** See `acceptDeletion`. */
  accept(table: string, identity: Identity, late?: AbortSignal): Promise<string>;
  /** See `acceptMany`. */
  acceptMany(request: ManyDeletions): AsyncGenerator<readonly Acceptance[]>;
  /** See `previewDeletion`. */
  preview(table: string, identity: Identity, memory: Reservation): Promise<DeletionPreview | undefined>;
  /** See `Scheduler`. */
  run(requestId: string): Promise<void>;
  /** See `replayLedger`. Call before the first read. */
  replay(): Promise<void>;
  /** Starts running due requests and notified requests. */
  start(): void;
  /** Resolves when no run is in progress. */
  stop(): Promise<void>;
}

export function openDeletions(dependencies: DeletionDependencies): DeletionService {
  const { dueNotifications, targets, webhook } = dependencies;
  const remoteTargets = targets.filter(({ remote }) => remote).map(({ name }) => name);
  const runs = scheduler({
    ...dependencies,
    targets: webhook === undefined ? remoteTargets : [...remoteTargets, NOTIFICATION],
    run(leased) {
      const { deletion } = leased;
      if (isCompleted(deletion)) return runNotification(dependencies, { ...leased, deletion });
      return runDeletion(dependencies, leased);
    },
  });
  let maintenance: Background | undefined;

  return {
    async accept(table, identity, late) {
      const scopeOf = (hash: IdentityHash) =>
        dependencies.memory.within((memory) => expandScope(dependencies, hash, memory));
      return acceptDeletion({ ...dependencies, scopeOf }, table, identity, dependencies.arrivalClock(), late);
    },
    acceptMany: (request) => acceptMany(dependencies, request),
    preview: (table, identity, memory) => previewDeletion(dependencies, table, identity, memory),
    run: runs.run,
    replay: () => replayLedger(dependencies),
    start() {
      dueNotifications.listen(runs.run);
      runs.start();
      maintenance = maintainLedger({ ...dependencies, remoteTargets });
    },
    async stop() {
      await Promise.all([dueNotifications.close(), runs.stop(), maintenance?.stop()]);
    },
  };
}
