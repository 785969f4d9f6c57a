import type { CacheMemory } from "../cache-memory.js";
import type { Clock } from "../clock.js";
import type { Settings } from "../config/settings.js";
import type { Tables } from "../entities/profile/entity-tables.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { Meters } from "../meters.js";
import type { Stores } from "../stores/stores.js";

/** Dependencies that the subjects of the service share. */
export interface SharedDependencies {
  readonly settings: Settings;
  readonly stores: Stores;
  /** See `ServiceClock`. */
  readonly clock: Clock;
  /** See `monotonicClock`. */
  readonly arrivalClock: Clock;
  readonly memory: MemoryBudget;
  /** Memory of every cache. */
  readonly cache: CacheMemory;
  /** Version of the package. */
  readonly version: string;
  readonly tables: Tables;
  readonly meters: Meters;
  readonly log: Log;
  readonly failpoint: Failpoint;
}
