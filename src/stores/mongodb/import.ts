import type { Db } from "mongodb";
import type { Experience, Mark, Segment } from "../../catalogue/ports.js";
import { StartError } from "../../errors.js";
import type { DeletedSegmentRecord, ProfileTarget } from "../copy.js";
import type { EngineDependencies } from "../stores.js";
import {
  type ExperienceDocument,
  experiencesOf,
  type SegmentDocument,
  segmentsOf,
} from "./catalogue/catalogue-store.js";
import { chartMarksOf, type MarkDocument } from "./catalogue/mark-store.js";
import type { CollectionPlan } from "./collection.js";
import { factCollection, factsOf } from "./database-facts.js";
import { importPart, inBatches } from "./import-part.js";
import { plans } from "./index.js";
import { COPIED, COPIED_FROM, openDatabases } from "./open-databases.js";
import { type RemovedSegment, removedSegmentsOf } from "./profiles/deleted-segments.js";
import { ledgerParts, profileParts, readFacts, setFacts } from "./profiles/import-profiles.js";

/** Time limit of one write or read, ms: no request waits for it. */
const DEADLINE_MS = 300_000;

/** Opens both databases for a copy. */
export async function openMongoImport({ settings, log }: EngineDependencies): Promise<ProfileTarget> {
  const withLongDeadline = { ...settings, limits: { ...settings.limits, store_deadline_ms: DEADLINE_MS } };
  const databases = await openDatabases(withLongDeadline, plans, { log, isShared: true });
  const { data, ledger, pepper } = databases;
  return {
    parts: {
      ...ledgerParts(ledger, pepper),
      ...profileParts(data),
      ...catalogueParts(data),
    },
    begin: (mark) => beginCopy(data, ledger, mark),
    setFacts: (facts) => setFacts(data, ledger, facts),
    facts: () => readFacts(data, ledger),
    finish: async () => void (await factsOf(ledger).textOnce(COPIED, "yes")),
    close: () => databases.close(),
  };
}

/** Implements `ProfileTarget.begin`. */
async function beginCopy(data: Db, ledger: Db, source: string): Promise<void> {
  const facts = factsOf(ledger);
  const begun = await facts.text(COPIED_FROM);
  if (begun !== undefined && (await facts.text(COPIED)) !== undefined) {
    throw new StartError(
      `${data.databaseName} was filled by npm run migrate before, and is in use: name another database`,
    );
  }
  if (begun === undefined) {
    await refuseUsed(data, plans.data);
    await refuseUsed(ledger, plans.ledger);
  }
  if ((await facts.textOnce(COPIED_FROM, source)) !== source) {
    throw new StartError(`${data.databaseName} is being filled from another folder: name another database, or drop it`);
  }
  if (begun === undefined) return;
  // In this order: a profile without its key would look like one with an outdated ledger.
  await removeDocuments(data, plans.data);
  await removeDocuments(ledger, plans.ledger);
}

/** Removes every document except the database facts. A dropped collection would lose its sharding. */
async function removeDocuments(db: Db, plans: readonly CollectionPlan[]): Promise<void> {
  for (const { name } of plans) {
    if (name === factCollection.name) continue;
    const collection = db.collection(name);
    for await (const documents of inBatches(collection.find({}, { projection: { _id: 1 } })))
      await collection.deleteMany({ _id: { $in: documents.map(({ _id }) => _id) } });
  }
}

async function refuseUsed(db: Db, plans: readonly CollectionPlan[]): Promise<void> {
  for (const { name } of plans) {
    if (name === factCollection.name || (await db.collection(name).findOne({}, { projection: { _id: 1 } })) === null)
      continue;
    throw new StartError(`${db.databaseName} already contains data (${name}): name an empty database`);
  }
}

/** Segments, their deletions, experiences and marks. */
function catalogueParts(db: Db) {
  return {
    segments: importPart<SegmentDocument, Segment>({ collection: segmentsOf(db) }),
    // A copied profile has no void updates to remove.
    "deleted segments": importPart<RemovedSegment, DeletedSegmentRecord>({
      collection: removedSegmentsOf(db),
      documentOf: ({ id, at, generation }) => ({ _id: id, deletedAt: at, generation }),
    }),
    experiences: importPart<ExperienceDocument, Experience>({ collection: experiencesOf(db) }),
    marks: importPart<MarkDocument, Mark>({ collection: chartMarksOf(db) }),
  };
}
