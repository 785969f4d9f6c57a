import { randomBytes, randomUUID } from "node:crypto";
import type { Clock } from "../clock.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { History } from "../entities/history.js";
import type { HashIdentity, Identity } from "../entities/identity.js";
import type { Sealing } from "../entities/sealed.js";
import type { Suppression } from "../entities/suppression.js";
import { Turns } from "../entities/turns.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import type { DeletionObserver } from "./deletion-observer.js";
import type { DownstreamTarget } from "./downstream-target.js";
import { eraseAgain } from "./erase-again.js";
import type { ErasureWatermark } from "./erasure-watermark.js";
import type { Ledger } from "./ledger.js";
import { requestDeletion } from "./request-deletion.js";
import { runDeletion } from "./run-deletion.js";
import { sealedIdentities } from "./sealed-identities.js";
import { type Sweeper, sweeper } from "./sweeper.js";
import type { WakeUp } from "./wake-up.js";

export interface ErasureParts {
  readonly ledger: Ledger;
  readonly suppression: Suppression;
  readonly entities: EntityStore;
  readonly history: History;
  readonly entityKeys: EntityKeys;
  readonly watermark: ErasureWatermark;
  readonly wakeUp: WakeUp;
  readonly sealing: Sealing;
  /** In the order in which a request goes through them. */
  readonly targets: readonly DownstreamTarget[];
  readonly hashIdentity: HashIdentity;
  readonly clock: Clock;
  /** Later than every arrival so far, at each call; shared with those who write. */
  readonly arrivals: Clock;
  readonly log: Log;
  readonly observer: DeletionObserver;
  readonly failpoint: Failpoint;
  /** See `SweeperParts`. */
  readonly keepMs: number | undefined;
}

/** Everything that deletion does, over the ports. */
export interface Erasure {
  /** See `requestDeletion`. */
  request(table: string, identity: Identity): Promise<string>;
  /** See `runDeletion`. */
  run(requestId: string): Promise<void>;
  /** See `eraseAgain`: before the first read. */
  eraseAgain(): Promise<void>;
  /** Runs what is open, from now on, and at each hint. */
  start(): void;
  readonly sweeper: Sweeper;
  /** Resolves when no run is under way. */
  stop(): Promise<void>;
}

export function openErasure(parts: ErasureParts): Erasure {
  const { ledger, entities, wakeUp, targets } = parts;
  const newId = () => randomBytes(16).toString("hex");
  const identities = sealedIdentities(parts.sealing, parts.entityKeys, newId);
  const common = { ...parts, identities };
  const requestParts = {
    ...common,
    targets: targets.map(({ name }) => name),
    newToken: () => randomBytes(10).toString("hex"),
  };
  const runParts = { ...common, newRunner: () => randomUUID() };
  const turns = new Turns();
  const run = (requestId: string) => runDeletion(runParts, requestId);
  const runLogged = async (requestId: string) => {
    try {
      await run(requestId);
    } catch (error) {
      parts.log.warn({ err: error, request: requestId }, "a deletion could not be run");
    }
  };
  const sweeps = sweeper({ ...parts, ledger, entities, run });

  return {
    // Of two requests at once for the same identity the second is a repeat.
    request: (table, identity) =>
      turns.take([parts.hashIdentity(table, identity)], () =>
        requestDeletion(requestParts, table, identity, parts.arrivals()),
      ),
    run,
    eraseAgain: () => eraseAgain(parts),
    start() {
      wakeUp.listen(runLogged);
      sweeps.start();
    },
    sweeper: sweeps,
    async stop() {
      await Promise.all([wakeUp.close(), sweeps.stop()]);
    },
  };
}
