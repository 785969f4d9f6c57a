import type { CatalogueStore } from "../catalogue/catalogue-store.js";
import type { ErasureWatermark } from "../deletions/erasure-watermark.js";
import type { Ledger } from "../deletions/ledger.js";
import type { WakeUp } from "../deletions/wake-up.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { History } from "../entities/history.js";
import type { Idempotency } from "../entities/idempotency.js";
import type { MembershipIndex } from "../entities/membership-index.js";
import type { Suppression } from "../entities/suppression.js";
import type { ServiceError } from "../errors.js";
import type { KeyStore } from "../keys/key-store.js";
import type { Changes } from "../metrics/changes.js";
import type { SeriesStore } from "../metrics/series-store.js";
import type { SlotClaims } from "../metrics/slot-claims.js";
import type { SlotCounts } from "../metrics/slot-counts.js";
import type { Probe } from "../probe.js";

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
  readonly claims: SlotClaims;
  readonly ledger: Ledger;
  readonly suppression: Suppression;
  readonly entityKeys: EntityKeys;
}

/** Ports over series. */
export interface MetricStores {
  readonly series: SeriesStore;
  readonly changes: Changes;
}

/** Every port, whichever engines serve them. */
export interface Stores extends EntityStores, MetricStores {
  readonly wakeUp: WakeUp;
  readonly probes: readonly Probe[];
  /** PEPPER as this store was made with. */
  readonly pepper: Uint8Array;
  /** What an engine's own error means to a caller; undefined when it means nothing but that something failed. */
  failureOf(error: unknown): ServiceError | undefined;
  close(): Promise<void>;
}
