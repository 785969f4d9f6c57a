import type { CatalogueStore, SharedOrders } from "../catalogue/ports.js";
import type { Clock } from "../clock.js";
import type { Settings } from "../config/settings.js";
import type { ErasureWatermark, Ledger, WakeUp } from "../deletions/ports.js";
import type { EntityKeys, EntityStore, History, Idempotency, MembershipIndex, Suppression } from "../entities/ports.js";
import type { ServiceErrorOf } from "../errors.js";
import type { Failpoint } from "../failpoint.js";
import type { KeyStore } from "../keys/api-key.js";
import type { Log } from "../log.js";
import type { Probe } from "../meters.js";
import type { Lease, SeriesStore, SharedEpochs, SlotCounts } from "../metrics/ports.js";
import type { ProfileTarget, SeriesTarget } from "./copy.js";

/** What an engine is opened with. */
export interface OpenParts {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly failpoint?: Failpoint | undefined;
}

/** What an engine says of itself. Nothing of its driver is loaded before a function of it is called. */
export interface EngineDescription {
  /** How the URLs that name it begin, `mongodb:`. */
  readonly schemes: readonly string[];
  /** Whether one process alone may use what its URL names; otherwise several may, at the same time. */
  readonly exclusive: boolean;
  /** The ports behind ENTITIES_URL; absent where it does not serve them, as with the others. */
  readonly entities?: {
    open(parts: OpenParts): Promise<EntityEngine>;
    /** Opens the API keys alone, also beside a running service. */
    openKeys(settings: Settings): Promise<OpenKeys>;
    /** Opens it to be filled by `npm run migrate`, where that can be. */
    openTarget?: OpenTarget<ProfileTarget>;
  };
  /** The ports behind METRICS_URL. */
  readonly metrics?: {
    open(parts: OpenParts): Promise<MetricEngine>;
    openTarget?: OpenTarget<SeriesTarget>;
  };
  /** The ports behind JOBS_URL. */
  readonly jobs?: {
    open(parts: OpenParts): Promise<JobEngine>;
  };
}

/** Throws a `StartError` when the server cannot be used. */
export type OpenTarget<T extends ProfileTarget | SeriesTarget> = (parts: OpenParts) => Promise<T>;

/** The settings with a URL of an engine: `settings.entities.url` and so on. */
export type Served = "entities" | "metrics" | "jobs";

/** API keys that were opened without the rest. */
export interface OpenKeys {
  readonly keys: KeyStore;
  close(): Promise<void>;
}

/** What every engine has besides its ports. */
export interface Engine {
  readonly probes: readonly Probe[];
  readonly serviceErrorOf: ServiceErrorOf;
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
  /** Absent where no other process may use the same stores, as is `serverTime`. */
  readonly sharedEpochs?: SharedEpochs;
  /** The time by the clock of the server, Unix ms. Rejects as the ports do. */
  readonly serverTime?: () => Promise<number>;
  /** Absent where no other process may use the same stores. */
  readonly sharedOrders?: SharedOrders;
}

/** What ENTITIES_URL names. */
export interface EntityEngine extends EntityStores, Engine {
  /** PEPPER as this store was made with. */
  readonly pepper: Uint8Array;
}

/** What METRICS_URL names. */
export interface MetricEngine extends Engine {
  readonly series: SeriesStore;
  /** How long the store itself keeps points, ms; undefined: for ever, or not known yet. */
  retentionMs(): number | undefined;
  /**
   * Calls `listener` when the store was replaced by another one since it was read, within a minute of that: what was read is no longer true. Absent
   * where that cannot happen under a running service.
   */
  onReplaced?(listener: () => void): void;
}

/** What JOBS_URL names. */
export interface JobEngine extends Engine {
  readonly wakeUp: WakeUp;
}

/** Every port, whichever engines serve them. */
export interface Stores extends EntityEngine, MetricEngine, JobEngine {
  /** What this process has for itself, by the setting that names its engine. */
  readonly exclusive: Readonly<Record<Served, boolean>>;
}
