import type { Db } from "mongodb";
import type { Settings } from "../../config/settings.js";
import { StartError } from "../../errors.js";
import type { Probe } from "../../meters.js";
import type { EngineDependencies, EntityEngine, OpenKeys } from "../stores.js";
import { catalogueCollections, mongoCatalogueStore } from "./catalogue/catalogue-store.js";
import { keyStoreCollections, mongoKeyStore } from "./catalogue/key-store.js";
import { markCollections, mongoMarkStore } from "./catalogue/mark-store.js";
import { makeCollections } from "./collection.js";
import { commandLimitMs, connect } from "./connection.js";
import { factCollection, factDocumentsOf, factsOf } from "./database-facts.js";
import { ledgerSteps } from "./deletions/layout-steps.js";
import { ledgerCollections, mongoLedger } from "./deletions/ledger.js";
import { notes } from "./deletions/number-deletions.js";
import { mongoSuppression } from "./deletions/suppression.js";
import { mongoServiceError } from "./errors.js";
import { leaseCollections, mongoLease } from "./lease.js";
import { openDatabases, type Plans } from "./open-databases.js";
import { removedSegments } from "./profiles/deleted-segments.js";
import { entityCollections } from "./profiles/entity-document.js";
import { entityKeysCollections, keyWrapping, mongoEntityKeys } from "./profiles/entity-keys.js";
import { mongoEntityStore } from "./profiles/entity-store.js";
import { historyCollections, mongoHistory } from "./profiles/history.js";
import { idempotencyCollections, mongoIdempotency } from "./profiles/idempotency.js";
import { mongoMembershipIndex } from "./profiles/membership-index.js";
import { mongoOutbox, outboxCollection } from "./profiles/outbox.js";
import { generationCollections, mongoRaiseOrder, mongoSharedGenerations } from "./series/shared-generations.js";
import { mongoSlotCounts, slotCountCollections } from "./series/slot-counts.js";
import { refuseOtherLedger } from "./upgrade.js";

/** Every collection. */
export const plans: Plans = {
  data: [
    ...entityCollections,
    ...historyCollections,
    ...slotCountCollections,
    ...idempotencyCollections,
    ...catalogueCollections,
    ...markCollections,
    removedSegments,
    outboxCollection,
    ...leaseCollections,
    ...generationCollections,
    notes,
    factCollection,
  ],
  ledger: [...ledgerCollections, ...entityKeysCollections, ...keyStoreCollections, ...idempotencyCollections],
  steps: ledgerSteps,
};

/** Opens the profiles in MongoDB, and the ledger in a separate database. */
export async function openMongo({ settings, log, failpoint }: EngineDependencies): Promise<EntityEngine> {
  const { pepper, close, ...databases } = await openDatabases(settings, plans, { log, failpoint });
  const { data, ledger, transact, deadlineMs } = databases;
  const wrapping = keyWrapping(pepper);
  const { hooks } = settings;
  const dependencies = { ...databases, wrapping, hooks };
  const commandMs = commandLimitMs(deadlineMs);
  return {
    entities: mongoEntityStore(dependencies),
    memberships: mongoMembershipIndex(data),
    history: mongoHistory(data),
    outbox: mongoOutbox(dependencies),
    idempotency: mongoIdempotency(data),
    repeatedDeletions: mongoIdempotency(ledger),
    catalogue: mongoCatalogueStore(data, transact, hooks),
    marks: mongoMarkStore(data, transact),
    keys: mongoKeyStore(ledger),
    counts: mongoSlotCounts(data, transact, commandMs),
    lease: mongoLease(data, transact),
    facts: factsOf(data),
    raiseOrder: mongoRaiseOrder(data),
    sharedGenerations: mongoSharedGenerations(data, commandMs),
    serverTime: async () => ((await data.command({ hello: 1 })) as { localTime: Date }).localTime.getTime(),
    ledger: mongoLedger(dependencies),
    suppression: mongoSuppression(ledger),
    commitMs: MAX_TRANSACTION_MS,
    entityKeys: mongoEntityKeys(ledger, wrapping, failpoint),
    pepper,
    probes: [probe("ledger", ledger, deadlineMs), probe("entities", data, deadlineMs)],
    toServiceError: mongoServiceError,
    close,
  };
}

/**
 * Age at which the server has aborted a transaction: `transactionLifetimeLimitSeconds`, 60 by default, after which it
 * looks for expired ones every half of that time. A larger limit is not supported.
 * https://www.mongodb.com/docs/manual/reference/parameters/#mongodb-parameter-param.transactionLifetimeLimitSeconds
 */
const MAX_TRANSACTION_MS = 90_000;

/** Opens only the API keys, also while a service runs: without the pepper. Creates no database. */
export async function openMongoKeys(settings: Settings): Promise<OpenKeys> {
  const deadlineMs = settings.limits.store_deadline_ms;
  const options = { url: settings.entities.url, deadlineMs, log: { warn: () => {} }, waitMs: 0 };
  const { ledger, close } = await connect(options, async ({ ledger: db }) => {
    if ((await factDocumentsOf(db).findOne({})) === null) {
      throw new StartError(`${db.databaseName} is empty: start the service once, or name its ENTITIES_URL`);
    }
    await refuseOtherLedger(db, plans.steps);
    await makeCollections(db, keyStoreCollections);
  });
  return { keys: mongoKeyStore(ledger), close };
}

/** Maximum wait of /ready, ms. */
const PROBE_MS = 3000;

/** Probes a database with a read from the primary. */
function probe(name: string, db: Db, deadlineMs: number): Probe {
  const waitMs = Math.min(PROBE_MS, deadlineMs);
  return {
    name,
    required: true,
    async check() {
      await factDocumentsOf(db).findOne({ _id: "ledger" }, { signal: AbortSignal.timeout(waitMs) });
      return undefined;
    },
  };
}
