import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { type Clock, monotonicClock, systemClock } from "../../src/clock.js";
import { acceptDeletion } from "../../src/deletions/accept.js";
import { type AcceptManyDependencies, acceptMany, type ManyDeletions } from "../../src/deletions/accept-many.js";
import type { DeletionObserver } from "../../src/deletions/observe.js";
import type { DownstreamTarget, Ledger, Webhook } from "../../src/deletions/ports.js";
import { type ReplayDependencies, replayLedger } from "../../src/deletions/replay.js";
import { type Scheduler, type SchedulerDependencies, scheduler } from "../../src/deletions/scheduler.js";
import { downstreamTargets } from "../../src/deletions/targets/index.js";
import { newKeys, seal } from "../../src/entities/profile/encryption.js";
import type { EntityId } from "../../src/entities/profile/entity.js";
import { encodeDocument } from "../../src/entities/profile/entity-document.js";
import type { HashIdentity, Identity } from "../../src/entities/profile/identity.js";
import { identityHashing } from "../../src/entities/profile/identity-hash.js";
import { requestHashing } from "../../src/entities/requests/repeatable-run.js";
import { type Failpoint, noFailpoint } from "../../src/failpoint.js";
import { type Log, openLog } from "../../src/log.js";
import type { Stores } from "../../src/stores/stores.js";
import { changeOf, commitOf, freshEntity, messageFor } from "../support/commits.js";
import { endsWithTest } from "../support/ends-with-test.js";
import { shippedTables } from "../support/entity-stage.js";
import { endless, opening } from "../support/opening.js";
import { type OpenStores, openTemporaryStores, storesOf } from "../support/stores.js";

type DeletionDependencies = AcceptManyDependencies & SchedulerDependencies & ReplayDependencies;

/** Accepts and runs deletions as a service does. */
export interface Deletions extends Scheduler {
  accept(table: string, identity: Identity, late?: AbortSignal): Promise<string>;
  acceptMany(request: ManyDeletions): ReturnType<typeof acceptMany>;
  replay(): Promise<void>;
}

/** Deletion on the embedded engine; a test can hold and inspect all parts. */
export interface ErasureStage extends OpenStores {
  readonly deletions: Deletions;
  /** Another worker over the same stores. */
  readonly another: Deletions;
  /** Runs a request now, also one that waits for its next try. */
  run(requestId: string): Promise<void>;
  /** Runs due requests once. */
  runDue(): Promise<void>;
  readonly hashIdentity: HashIdentity;
  /** Returns a later instant than all previous calls. */
  readonly now: Clock;
  /** Stores a live profile with these identities, a membership and a message; returns its id. */
  profile(identities: readonly Identity[], options?: { since?: number; table?: string }): Promise<EntityId>;
}

export interface StageOptions {
  /** Wraps ports for deletion, so that a test can hold a call. */
  readonly wrap?: (stores: Stores) => Partial<Stores>;
  readonly more?: readonly DownstreamTarget[];
  readonly failpoint?: Failpoint;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly observer?: DeletionObserver;
  /** Opens the data that a service left in this folder, or on the servers under its name, and does not remove it. */
  readonly dir?: string;
  /** Whether the data of `dir` is on the three servers; by default the whole run decides. */
  readonly onServers?: boolean;
  /** See `DeletionDependencies`. */
  readonly webhook?: Webhook | undefined;
  readonly retentionMs?: number;
  readonly pollMs?: number;
}

/** Runs a request now, also one that waits for its next try. */
export async function runNow(ledger: Ledger, deletions: Deletions, requestId: string): Promise<void> {
  await ledger.wake([requestId]);
  await deletions.run(requestId);
}

/** Runs due requests once: at our own stores, then at these remote targets. */
export async function runDue(
  ledger: Ledger,
  deletions: Deletions,
  clock: Clock,
  targets: readonly string[] = [],
): Promise<void> {
  const due = await Promise.all([undefined, ...targets].map((target) => ledger.due(clock(), target, 1_000)));
  for (const requestId of due.flat()) await deletions.run(requestId);
}

/** For tests that count nothing. */
export const noObserver: DeletionObserver = { completed: () => {}, failed: () => {} };

/** Deletions from these stores alone, unless `own` has more targets. */
export function deletionsOver(
  stores: Stores,
  own: Pick<DeletionDependencies, "clock"> & Partial<DeletionDependencies>,
): Deletions {
  const dependencies: DeletionDependencies = {
    ...stores,
    ...opening(),
    hooks: [],
    targets: downstreamTargets({ ...stores, remote: [], hooks: [], failpoint: own.failpoint ?? noFailpoint }),
    tables: shippedTables,
    hashIdentity: identityHashing(stores.pepper),
    hashRequest: requestHashing(stores.pepper),
    arrivalClock: own.clock,
    log: openLog("silent"),
    observer: noObserver,
    failpoint: noFailpoint,
    webhook: undefined,
    retentionMs: undefined,
    pollMs: 1_000,
    ...own,
  };
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  return {
    ...scheduler(dependencies),
    accept: (table, identity, late = never) => acceptDeletion(dependencies, table, identity, endless(), late),
    acceptMany: (request) => acceptMany(dependencies, request),
    replay: () => replayLedger(dependencies),
  };
}

export async function erasureStage(options: StageOptions = {}): Promise<ErasureStage> {
  const { failpoint = noFailpoint, clock = systemClock, more = [] } = options;
  const open =
    options.dir === undefined
      ? await openTemporaryStores(failpoint)
      : await storesOf(options.dir, failpoint, options.onServers);
  const stores: Stores = { ...open.stores, ...options.wrap?.(open.stores) };
  const hashIdentity = identityHashing(stores.pepper);
  const now = monotonicClock(clock);
  const own = {
    targets: [...downstreamTargets({ ...stores, remote: [], hooks: [], failpoint }), ...more],
    clock,
    arrivalClock: now,
    log: options.log ?? openLog("silent"),
    observer: options.observer ?? noObserver,
    failpoint,
    webhook: options.webhook,
    retentionMs: options.retentionMs,
    pollMs: options.pollMs ?? 1_000,
  };
  const deletions = deletionsOver(stores, own);

  return {
    ...open,
    deletions,
    another: deletionsOver(stores, own),
    run: (requestId) => runNow(stores.ledger, deletions, requestId),
    runDue: () =>
      runDue(
        stores.ledger,
        deletions,
        clock,
        more.map(({ name }) => name),
      ),
    hashIdentity,
    now,

    async profile(identities, { since = now(), table = "user" } = {}) {
      const id = randomBytes(16).toString("hex");
      const version = { time: since, arrival: since, position: 0 };
      const plain = encodeDocument({
        attributes: new Map([["plan", { version, value: "gold" }]]),
        identities,
        streams: ["web"],
        facts: new Map(),
        modified: 1,
      });
      const keys = newKeys([id]);
      const [sealed] = seal(keys, [{ entity: id, plain }]);
      const hashes = identities.map((identity) => hashIdentity(table, identity));
      const entity = freshEntity(hashes, { id, table, born: since, sealed: sealed as Uint8Array });
      const { entities, suppression } = open.stores;
      const [held, cutOffs] = [(await entities.find(hashes)).owners, await suppression.cutOffs(hashes)];
      const commit = commitOf([changeOf(entity, [{ add: ["buyers"], version }])], {
        messages: [messageFor(id, { ...version, sealed: sealed as Uint8Array })],
        owners: new Map(hashes.map((hash) => [hash, held.get(hash)])),
        cutOffs,
        keys,
      });
      if (!(await entities.commit(commit))) throw new Error("The profile was not kept");
      return id;
    },

    close: endsWithTest(async () => {
      await deletions.stop();
      await open.close();
    }),
  };
}
