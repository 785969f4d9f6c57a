import type { Db } from "mongodb";
import type { Settings } from "../../config/settings.js";
import { ledgerMismatch, NEWEST } from "../../deletions/match-ledger.js";
import type { EntityId } from "../../entities/profile/entity.js";
import { StartError } from "../../errors.js";
import { randomId } from "../../ids.js";
import type { Log } from "../../log.js";
import { pepperBytes, pepperFingerprint } from "../pepper.js";
import { byIds, type CollectionPlan, checkCluster, makeCollections } from "./collection.js";
import { type Connection, connect } from "./connection.js";
import { FORGOTTEN, mongoDeletionWatermark, numberIn, seenBy, textOf, textOnce } from "./database-facts.js";
import { hasNoted, newestNumber } from "./deletions/number-deletions.js";
import { entityCollectionsOf } from "./profiles/entity-document.js";
import { entityKeysOf } from "./profiles/entity-keys.js";
import { messagesOf } from "./profiles/history.js";

/** Both databases, which belong together and to this pepper. */
export interface OpenDatabases extends Connection {
  readonly pepper: Uint8Array;
}

/** Collections of both databases. */
export interface Plans {
  readonly data: readonly CollectionPlan[];
  readonly ledger: readonly CollectionPlan[];
}

/** Opens both databases, creates missing collections, and refuses unsuitable databases. Safe to run concurrently. */
export async function openDatabases(
  settings: Settings,
  log: Pick<Log, "warn">,
  plans: Plans,
  waitMs?: number,
): Promise<OpenDatabases> {
  const pepper = requiredPepper(settings.pepper);
  const options = { url: settings.entities.url, deadlineMs: settings.limits.store_deadline_ms, log };
  const prepare = async ({ client, data, ledger }: Connection) => {
    await checkCluster(client, { name: data.databaseName, plans: plans.data }, ledger.databaseName);
    await matchLayout(data);
    await makeCollections(ledger, plans.ledger);
    await makeCollections(data, plans.data);
    await matchLedger(ledger, data);
    await matchPepper(ledger, pepper);
  };
  const connection = await connect({ ...options, ...(waitMs === undefined ? {} : { waitMs }) }, prepare);
  return { ...connection, pepper };
}

/** Returns the key of the identity hashes: the setting PEPPER. Throws if it is missing. */
function requiredPepper(setting: string | null): Uint8Array {
  if (setting !== null) return pepperBytes(setting);
  throw new StartError("PEPPER is missing: with MongoDB it is not generated. Set it to a secret of at least 32 bytes");
}

/** Refuses a pepper that the ledger was not created with. */
async function matchPepper(ledger: Db, pepper: Uint8Array): Promise<void> {
  const fingerprint = pepperFingerprint(pepper);
  if ((await textOnce(ledger, "pepper", fingerprint)) === fingerprint) return;
  throw new StartError(`PEPPER is not the pepper of the data in ${ledger.databaseName}: restore the original pepper`);
}

/** In the database of the profiles: the layout of the documents of both databases. */
const LAYOUT = "layout";
const OUR_LAYOUT = "3";

/** Refuses databases whose documents have another layout. */
async function matchLayout(data: Db): Promise<void> {
  const isUsed = (await textOf(data, NAME)) !== undefined;
  const layout = isUsed ? await textOf(data, LAYOUT) : await textOnce(data, LAYOUT, OUR_LAYOUT);
  if (layout === OUR_LAYOUT) return;
  throw new StartError(`${data.databaseName} was written by another version of entity-metrics: name an empty database`);
}

/** In both databases: a random mark of the ledger that the data was created with. */
const NAME = "ledger";

/**
 * Refuses data that does not belong to its ledger: see `ledgerMismatch`. Marks new data. Several processes may do this
 * concurrently, also with empty databases: the ledger is marked before the data is. As others may write concurrently,
 * the fact that is written last is read first.
 */
export async function matchLedger(ledger: Db, data: Db): Promise<void> {
  const [kept, of] = [ledger.databaseName, data.databaseName];
  const known = await textOf(data, NAME);
  const mark = known === undefined ? await textOnce(ledger, NAME, randomId()) : await textOf(ledger, NAME);
  const forgotten = await numberIn(ledger, FORGOTTEN);
  const seen = await seenBy(data);
  const hasNewest = (await hasNoted(ledger, data)) && (await hasKeys(ledger, await newestEntities(data)));
  const facts = {
    data: { mark: known, ...seen },
    ledger: { mark, forgotten, accepted: await newestNumber(ledger), hasNewest },
  };
  const error = ledgerMismatch(facts, { ledger: kept, data: of });
  if (error !== undefined) throw error;
  if (known === undefined) await mongoDeletionWatermark(data).noteForgotten(forgotten);
  // Writes at every start, so that a user without the right to write is refused at the start.
  if (mark !== undefined && (await textOnce(data, NAME, mark)) !== mark) {
    throw new StartError(`${of} is being initialized with another ledger than ${kept}: start again`);
  }
}

/**
 * Returns the ids of the newest profiles, and of the profiles of the newest messages, which may have been merged since.
 */
async function newestEntities(data: Db): Promise<EntityId[]> {
  const profiles = entityCollectionsOf(data).entities.find({}, { projection: { _id: 1 } });
  const messages = messagesOf(data).find({}, { projection: { entity: 1 } });
  const ids = [
    ...(await profiles.sort({ born: -1 }).limit(NEWEST).toArray()).map(({ _id }) => _id),
    ...(await messages.sort({ arrival: -1 }).limit(NEWEST).toArray()).map(({ entity }) => entity),
  ];
  return [...new Set(ids)];
}

/** Returns whether the ledger has a key, overwritten or not, for each of these ids. */
async function hasKeys(ledger: Db, ids: readonly EntityId[]): Promise<boolean> {
  return (await entityKeysOf(ledger).countDocuments(byIds(ids))) === ids.length;
}

/** In the ledger's database: the source that it is filled from, and whether the copy is complete. */
export const COPIED_FROM = "copied from";
export const COPIED = "copied";

/** Refuses databases with an unfinished copy. */
export async function refuseUnfinishedCopy(ledger: Db): Promise<void> {
  if ((await textOf(ledger, COPIED_FROM)) === undefined || (await textOf(ledger, COPIED)) !== undefined) return;
  throw new StartError(
    `${ledger.databaseName} is being filled by npm run migrate: let it finish, or run it again if it was interrupted`,
  );
}
