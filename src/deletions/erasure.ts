import { KeyedMutex } from "../async/keyed-mutex.js";
import type { Clock } from "../clock.js";
import type { HashIdentity, Identity } from "../entities/identity.js";
import type { EntityKeys, EntityStore, History } from "../entities/ports.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import { sealedIdentities } from "./erasure-scope.js";
import type { DeletionObserver } from "./observe-deletions.js";
import type { DownstreamTarget, ErasureWatermark, Ledger, WakeUp } from "./ports.js";
import { type DeletionPreview, previewDeletion } from "./preview-deletion.js";
import { replayLedger } from "./replay.js";
import { requestDeletion } from "./request-deletion.js";
import { LEASE_MS, runDeletion } from "./run-deletion.js";
import { OWN_STORES, runQueues, sweeper } from "./sweeper.js";

export interface ErasureParts {
  readonly ledger: Ledger;
  readonly entities: EntityStore;
  readonly entityKeys: EntityKeys;
  readonly watermark: ErasureWatermark;
  readonly history: Pick<History, "countByStream" | "newestArrival">;
  readonly wakeUp: WakeUp;
  /** In the order in which a request goes through them. */
  readonly targets: readonly DownstreamTarget[];
  readonly hashIdentity: HashIdentity;
  readonly clock: Clock;
  /** Later than every arrival so far in this process, by the clock that processes share. Unix ms. */
  now(): Promise<number>;
  readonly log: Log;
  readonly observer: DeletionObserver;
  readonly failpoint: Failpoint;
  /** See `SweeperParts`. */
  readonly keepMs: number | undefined;
  readonly sweepEveryMs: number;
}

/** A run that is not made for a hint gives one for later: should its process die, another one finds that its lease has ended. */
const AFTER_LEASE_MS = LEASE_MS + 1_000;

/** How soon a request is tried again whose run could not even be noted as failed, ms. */
const ERROR_MS = 5_000;

/** Everything that deletion does, over the ports. */
export interface Erasure {
  /** See `requestDeletion`. */
  request(table: string, identity: Identity, late?: AbortSignal): Promise<string>;
  /** See `previewDeletion`. */
  preview(table: string, identity: Identity): Promise<DeletionPreview | undefined>;
  /** See `runDeletion`: as far as it goes, through every target. */
  run(requestId: string): Promise<void>;
  /** See `replayLedger`: before the first read. */
  replay(): Promise<void>;
  /** Runs what is open, from now on, and at each hint. */
  start(): void;
  /** Runs what is open and due, once. */
  sweep(): Promise<void>;
  /** Resolves when no run is under way. */
  stop(): Promise<void>;
}

export function openErasure(parts: ErasureParts): Erasure {
  const { wakeUp, targets } = parts;
  const common = { ...parts, identities: sealedIdentities(parts.entityKeys) };
  const mutex = new KeyedMutex();
  const remote = new Set(targets.flatMap(({ name, remote }) => (remote ? [name] : [])));
  const runIn = async (queue: string, requestId: string, keepsWaits: boolean): Promise<string | undefined> => {
    try {
      return await runDeletion(common, requestId, { mayErase: (target) => target === queue, keepsWaits });
    } catch (error) {
      parts.log.warn({ err: error, request: requestId }, "a deletion could not be run");
      wakeUp.hint(requestId, ERROR_MS);
      return undefined;
    }
  };
  const queues = runQueues((queue, requestId) => {
    wakeUp.hint(requestId, AFTER_LEASE_MS);
    return runIn(queue, requestId, false);
  });
  const runHinted = async (requestId: string) => {
    const goesOnIn = await runIn(OWN_STORES, requestId, true);
    if (goesOnIn !== undefined) queues.add(goesOnIn, requestId);
  };
  const sweeps = sweeper({ ...parts, queues, remote });

  return {
    request: (table, identity, late) =>
      // Of two requests at once for the same identity the second is a repeat.
      mutex.run([parts.hashIdentity(table, identity)], async () => {
        late?.throwIfAborted();
        return requestDeletion(common, table, identity, await parts.now(), late);
      }),
    preview: async (table, identity) => previewDeletion(common, table, identity, await parts.now()),
    async run(requestId) {
      await runDeletion(common, requestId, { mayErase: () => true, keepsWaits: false });
    },
    replay: () => replayLedger(common),
    start() {
      wakeUp.listen(runHinted);
      sweeps.start();
    },
    sweep: sweeps.sweep,
    async stop() {
      await Promise.all([wakeUp.close(), sweeps.stop(), queues.close()]);
    },
  };
}
