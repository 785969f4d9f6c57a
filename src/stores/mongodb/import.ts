import type { ProfileTarget } from "../copy.js";
import type { OpenParts } from "../stores.js";
import { beginCopy, finishCopy } from "./copy-mark.js";
import { catalogueParts } from "./import-catalogue.js";
import { claimParts } from "./import-claims.js";
import { entityParts } from "./import-entities.js";
import { historyParts } from "./import-history.js";
import { ledgerParts, readFacts, setFacts } from "./import-ledger.js";
import { plans } from "./index.js";
import { openDatabases } from "./open-databases.js";

/** How long one write or read may take, ms: nobody waits for an answer. */
const DEADLINE_MS = 300_000;

/** Opens both databases, to fill them. */
export async function openMongoImport({ settings, log }: OpenParts): Promise<ProfileTarget> {
  const patient = { ...settings, limits: { ...settings.limits, store_deadline_ms: DEADLINE_MS } };
  const databases = await openDatabases(patient, log, plans);
  const { data, ledger, pepper } = databases;
  return {
    parts: {
      ...ledgerParts(ledger, pepper),
      ...entityParts(data),
      ...historyParts(data),
      ...claimParts(data),
      ...catalogueParts(data),
    },
    begin: (mark) => beginCopy(databases, plans, mark),
    setFacts: (facts) => setFacts(data, ledger, facts),
    facts: () => readFacts(data, ledger),
    finish: () => finishCopy(ledger),
    close: () => databases.close(),
  };
}
