import { catalogueSchema } from "./catalogue-store.js";
import { CHUNK_PAGE_BYTES } from "./chunks.js";
import type { FileLayout } from "./connection.js";
import { deletedSegmentsMigration, deletedSegmentsSchema } from "./deleted-segments.js";
import { entityKeysSchema } from "./entity-keys.js";
import { entitySchema } from "./entity-store.js";
import { historySchema } from "./history.js";
import { idempotencySchema } from "./idempotency.js";
import { keySchema } from "./key-store.js";
import { ledgerToLayout2 } from "./layout-2.js";
import { ledgerSchema } from "./ledger.js";
import { deletionWatermarkSchema, ledgerMarkSchema } from "./ledger-match.js";
import { markSchema } from "./mark-store.js";
import { membershipSchema } from "./membership-index.js";
import { pepperSchema } from "./pepper.js";
import { seriesSchema } from "./series-store.js";
import { leaseSchema, slotCountSchema } from "./slot-counts.js";
import { suppressionSchema } from "./suppression.js";

/** Requests, suppression, keys and repeatable deletions: restoring older data must not revert them. */
export const ledgerFile: FileLayout = {
  name: "ledger.db",
  schema: [
    ledgerMarkSchema,
    pepperSchema,
    ledgerSchema,
    suppressionSchema,
    entityKeysSchema,
    keySchema,
    idempotencySchema,
  ],
  migrations: [ledgerToLayout2],
};

/** Profiles, and all that changes with them in one transaction. */
export const entitiesFile: FileLayout = {
  name: "entities.db",
  schema: [
    ledgerMarkSchema,
    entitySchema,
    membershipSchema,
    historySchema,
    slotCountSchema,
    idempotencySchema,
    deletionWatermarkSchema,
    catalogueSchema,
    markSchema,
    deletedSegmentsSchema,
    leaseSchema,
  ],
  migrations: [
    `${deletedSegmentsMigration}
    ALTER TABLE idempotent_request ADD COLUMN began INTEGER NOT NULL DEFAULT 0;`,
  ],
};

/** Series of both planes. */
export const metricsFile: FileLayout = {
  name: "metrics.db",
  pageBytes: CHUNK_PAGE_BYTES,
  schema: seriesSchema,
  migrations: [],
};
