import type { CacheMemory } from "../cache-memory.js";
import type { CatalogueStore, MarkStore } from "../catalogue/ports.js";
import type { Clock } from "../clock.js";
import type { Settings } from "../config/settings.js";
import type { DueNotifications, Ledger } from "../deletions/ports.js";
import type { Outbox } from "../entities/outbox.js";
import type { EntityKeys, EntityStore, History, Idempotency, MembershipIndex, Suppression } from "../entities/ports.js";
import type { StartError, ToServiceError } from "../errors.js";
import type { Facts } from "../facts.js";
import type { Failpoint } from "../failpoint.js";
import type { KeyStore } from "../keys/api-key.js";
import type { Log } from "../log.js";
import type { Probe } from "../meters.js";
import type { Lease, RaiseOrder, SeriesStore, SharedGenerations, SlotCounts } from "../metrics/ports.js";

/** Dependencies of an engine. */
export interface EngineDependencies {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly failpoint?: Failpoint | undefined;
  /** Memory of every cache of the process; by default the engine has its own. */
  readonly cache?: CacheMemory | undefined;
}

/** The settings with a URL of an engine: `settings.entities.url` and so on. */
export type Served = "entities" | "metrics" | "jobs";

/** API keys, opened without the other ports. */
export interface OpenKeys {
  readonly keys: KeyStore;
  close(): Promise<void>;
}

/** Common members of every engine besides its ports. */
export interface Engine {
  readonly probes: readonly Probe[];
  close(): Promise<void>;
}

/** An engine of stores, whose errors reach requests. */
export interface StoreEngine extends Engine {
  readonly toServiceError: ToServiceError;
  /** Converts an error of a damaged store during a start; undefined for other errors. Absent on a server. */
  startErrorOf?(error: unknown): StartError | undefined;
}

/** Ports over profiles and related data. */
export interface EntityStores {
  readonly entities: EntityStore;
  readonly memberships: MembershipIndex;
  readonly history: History;
  readonly outbox: Outbox;
  /** Requests that are stored with the data. */
  readonly idempotency: Idempotency;
  /** Requests for deletions: stored with the ledger, so that their repeats return the same ids over restored data. */
  readonly repeatedDeletions: Idempotency;
  readonly catalogue: CatalogueStore;
  readonly marks: MarkStore;
  readonly keys: KeyStore;
  readonly facts: Facts;
  readonly counts: SlotCounts;
  readonly lease: Lease;
  readonly raiseOrder: RaiseOrder;
  readonly ledger: Ledger;
  readonly suppression: Suppression;
  readonly entityKeys: EntityKeys;
  /** Maximum time between the last read of a commit that compares the generation and its end, ms. */
  readonly commitMs: number;
  /** Absent if no other process may use the same stores, as is `serverTime`. */
  readonly sharedGenerations?: SharedGenerations;
  /** Returns the time of the server's clock, Unix ms. Rejects as the ports do. */
  readonly serverTime?: () => Promise<number>;
}

/** The engine of ENTITIES_URL. */
export interface EntityEngine extends EntityStores, StoreEngine {
  /** The PEPPER that this store was created with. */
  readonly pepper: Uint8Array;
}

/** The engine of METRICS_URL. */
export interface MetricEngine extends StoreEngine {
  readonly series: SeriesStore;
  /** Whether no other process may use the series. */
  readonly ownsSeries: boolean;
  /** Returns the store's own retention, ms; undefined: not known yet. Absent if it has none. */
  readonly retentionMs?: () => number | undefined;
}

/** The engine of JOBS_URL. */
export interface JobEngine extends Engine {
  readonly dueNotifications: DueNotifications;
}

/** Every port, served by one or several engines. */
export interface Stores extends EntityEngine, MetricEngine, JobEngine {}
