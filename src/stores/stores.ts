import type { CatalogueStore } from "../catalogue/ports.js";
import type { Clock } from "../clock.js";
import type { Settings } from "../config.js";
import type { ErasureWatermark, Ledger, WakeUp } from "../deletions/ports.js";
import type { EntityKeys, EntityStore, History, Idempotency, MembershipIndex, Suppression } from "../entities/ports.js";
import type { ServiceError } from "../errors.js";
import type { Failpoint } from "../failpoint.js";
import type { KeyStore } from "../keys/api-key.js";
import type { Log } from "../log.js";
import type { Probe } from "../meters.js";
import type { Lease, SeriesStore, SharedEpochs, SlotCounts } from "../metrics/ports.js";

/** What an engine is opened with. */
export interface OpenParts {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly failpoint?: Failpoint | undefined;
}

/** What every engine has besides its ports. */
export interface Engine {
  readonly probes: readonly Probe[];
  /** What an engine's own error means to a caller; undefined when it is not one of its own, or means nothing but that something failed. */
  serviceErrorOf(error: unknown): ServiceError | undefined;
  close(): Promise<void>;
}

/** Ports over profiles and what surrounds them. */
export interface EntityStores {
  readonly entities: EntityStore;
  readonly memberships: MembershipIndex;
  readonly history: History;
  readonly idempotency: Idempotency;
  readonly catalogue: CatalogueStore;
  readonly keys: KeyStore;
  readonly watermark: ErasureWatermark;
  readonly counts: SlotCounts;
  readonly lease: Lease;
  readonly ledger: Ledger;
  readonly suppression: Suppression;
  readonly entityKeys: EntityKeys;
  /** Absent where no other process may use the same stores. */
  readonly sharedEpochs?: SharedEpochs;
}

/** What ENTITIES_URL names. */
export interface EntityEngine extends EntityStores, Engine {
  /** PEPPER as this store was made with. */
  readonly pepper: Uint8Array;
  /** Whether other processes may use the same stores at the same time. */
  readonly shared: boolean;
}

/** What METRICS_URL names. */
export interface MetricEngine extends Engine {
  readonly series: SeriesStore;
  /** Whether this process alone has the series. */
  readonly exclusive: boolean;
  /** How long the store itself keeps points, ms; undefined: for ever, or not known yet. */
  retentionMs(): number | undefined;
}

/** What JOBS_URL names. */
export interface JobEngine extends Engine {
  readonly wakeUp: WakeUp;
  /** Whether wake-up calls are kept outside this process, so that another one hears them after its death. */
  readonly wakeUpOutlives: boolean;
}

/** Every port, whichever engines serve them. */
export interface Stores extends EntityEngine, MetricEngine, JobEngine {}
