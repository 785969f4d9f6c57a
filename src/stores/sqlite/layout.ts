import { catalogueSchema } from "./catalogue/catalogue-store.js";
import { keySchema } from "./catalogue/key-store.js";
import { markSchema } from "./catalogue/mark-store.js";
import { factSchema } from "./database-facts.js";
import { ledgerSteps } from "./deletions/layout-steps.js";
import { ledgerSchema } from "./deletions/ledger.js";
import { suppressionSchema } from "./deletions/suppression.js";
import type { FileLayout } from "./open-database.js";
import { deletedSegmentsSchema } from "./profiles/deleted-segments.js";
import { entityKeysSchema } from "./profiles/entity-keys.js";
import { entitySchema } from "./profiles/entity-store.js";
import { historySchema } from "./profiles/history.js";
import { idempotencySchema } from "./profiles/idempotency.js";
import { entitySteps } from "./profiles/layout-steps.js";
import { membershipSchema } from "./profiles/membership-index.js";
import { outboxSchema } from "./profiles/outbox.js";
import { seriesSteps } from "./series/layout-steps.js";
import { seriesSchema } from "./series/series-store.js";
import { slotCountSchema } from "./series/slot-counts.js";

/** Requests, suppression, keys and repeatable deletions: restoring older data must not revert them. */
export const ledgerFile: FileLayout = {
  name: "ledger.db",
  schema: [factSchema, ledgerSchema, suppressionSchema, entityKeysSchema, keySchema, idempotencySchema],
  steps: ledgerSteps,
};

/** Profiles, and all that changes with them in one transaction. */
export const entitiesFile: FileLayout = {
  name: "entities.db",
  schema: [
    factSchema,
    entitySchema,
    membershipSchema,
    historySchema,
    slotCountSchema,
    idempotencySchema,
    catalogueSchema,
    markSchema,
    deletedSegmentsSchema,
    outboxSchema,
  ],
  steps: entitySteps,
};

/** Series of all value sources. */
export const metricsFile: FileLayout = {
  name: "metrics.db",
  schema: [...seriesSchema, factSchema],
  steps: seriesSteps,
};
