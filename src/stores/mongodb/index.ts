import type { Db } from "mongodb";
import type { Settings } from "../../config.js";
import { StartError } from "../../errors.js";
import type { KeyStore } from "../../keys/key-store.js";
import { stream } from "../../metrics/dimensions/stream.js";
import type { Probe } from "../../probe.js";
import type { EntityEngine, OpenParts } from "../stores.js";
import { catalogueCollections } from "./catalogue-documents.js";
import { mongoCatalogueStore } from "./catalogue-store.js";
import { connect } from "./connection.js";
import { refuseUnfinishedCopy } from "./copy-mark.js";
import { entityKeysCollections, mongoEntityKeys } from "./entity-keys.js";
import { entityCollections, mongoEntityStore } from "./entity-store.js";
import { erasureWatermarkCollections, mongoErasureWatermark } from "./erasure-watermark.js";
import { mongoFailure } from "./failure.js";
import { mongoHistory } from "./history.js";
import { historyCollections } from "./history-documents.js";
import { idempotencyCollections, mongoIdempotency } from "./idempotency.js";
import { copyOldKeys, keyStoreCollections, mongoKeyStore } from "./key-store.js";
import { ledgerCollections, mongoLedger } from "./ledger.js";
import { makeCollections } from "./make-collections.js";
import { marksOf } from "./marks.js";
import { membershipCollections, mongoMembershipIndex } from "./membership-index.js";
import { openDatabases, type Plans } from "./open-databases.js";
import { mongoSharedEra, sharedEraCollections } from "./shared-era.js";
import { slotClaimsCollections } from "./slot-claim-documents.js";
import { mongoSlotClaims } from "./slot-claims.js";
import { mongoSlotCounts, slotCountsCollections } from "./slot-counts.js";
import { mongoSuppression } from "./suppression.js";

/** Every collection. */
export const plans: Plans = {
  data: [
    ...entityCollections,
    ...membershipCollections,
    ...historyCollections,
    ...slotCountsCollections,
    ...idempotencyCollections,
    ...catalogueCollections,
    ...slotClaimsCollections,
    ...erasureWatermarkCollections,
    ...sharedEraCollections,
  ],
  ledger: [...ledgerCollections, ...entityKeysCollections, ...keyStoreCollections],
};

/** Opens the profiles in MongoDB, and the ledger in a database of its own beside them. */
export async function openMongo({ settings, log, failpoint }: OpenParts): Promise<EntityEngine> {
  const { data, ledger, pepper, close } = await openDatabases(settings, log, plans);
  await refuseUnfinishedCopy(ledger).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const deadlineMs = settings.limits.store_deadline_ms;
  return {
    entities: mongoEntityStore(data),
    memberships: mongoMembershipIndex(data),
    history: mongoHistory(data, stream.slotMs),
    idempotency: mongoIdempotency(data),
    catalogue: mongoCatalogueStore(data),
    keys: mongoKeyStore(ledger),
    counts: mongoSlotCounts(data),
    claims: mongoSlotClaims(data),
    watermark: mongoErasureWatermark(data),
    sharedEra: mongoSharedEra(data),
    ledger: mongoLedger(ledger),
    suppression: mongoSuppression(ledger),
    entityKeys: mongoEntityKeys(ledger, pepper, failpoint),
    shared: true,
    pepper,
    probes: [probe("ledger", ledger, deadlineMs), probe("entities", data, deadlineMs)],
    failureOf: mongoFailure,
    close,
  };
}

/** Opens the API keys alone, also beside a running service: without the pepper. Makes no database. */
export async function openMongoKeys(settings: Settings): Promise<{ keys: KeyStore; close(): Promise<void> }> {
  const deadlineMs = settings.limits.store_deadline_ms;
  const options = { url: settings.entities.url, deadlineMs, log: { warn: () => {} }, waitMs: 0 };
  const { ledger, close } = await connect(options, async ({ data, ledger: db }) => {
    if ((await marksOf(db).findOne({})) === null) {
      throw new StartError(`${db.databaseName} is empty: start the service once, or name its ENTITIES_URL`);
    }
    await makeCollections(db, keyStoreCollections);
    await copyOldKeys(data, db);
  });
  return { keys: mongoKeyStore(ledger), close };
}

/** How long /ready waits, at most, ms. */
const PROBE_MS = 3000;

/** A read that reaches the primary. */
function probe(name: string, db: Db, deadlineMs: number): Probe {
  const waitMs = Math.min(PROBE_MS, deadlineMs);
  return {
    name,
    required: true,
    async check() {
      await marksOf(db).findOne({ _id: "ledger" }, { signal: AbortSignal.timeout(waitMs) });
      return undefined;
    },
  };
}
