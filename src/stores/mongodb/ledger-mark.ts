import { randomBytes } from "node:crypto";
import type { Db } from "mongodb";
import { systemClock } from "../../clock.js";
import { StartError } from "../../errors.js";
import { findByIds } from "./collection.js";
import { entityKeysOf } from "./entity-keys.js";
import { entityRecords } from "./entity-records.js";
import { mongoErasureWatermark, seenBy } from "./erasure-watermark.js";
import { FORGOTTEN, newestSequence } from "./ledger-sequence.js";
import { numberOf, textOf, textOnce } from "./marks.js";

/** In both databases: a random mark of the ledger that the data was made with. */
const NAME = "ledger";

/**
 * Refuses data whose ledger is gone, is another's, or is older than the data, by a deletion or by a profile: keys of profiles would
 * be missing, and who was erased since would be unknown. Data older than its ledger is what a backup brings, and is let in
 * unless the ledger has forgotten a deletion that the data has not seen. Several processes may do this at once, also with empty
 * databases: the ledger is marked before the data is. Others may be at work meanwhile: of two facts the one written last is read first.
 */
export async function matchLedger(ledger: Db, data: Db): Promise<void> {
  const [kept, of] = [ledger.databaseName, data.databaseName];
  const known = await textOf(data, NAME);
  if (known !== undefined && (await textOf(ledger, NAME)) !== known) {
    throw new StartError(`${kept} is missing or another one's: put back the newest one that ${of} was used with`);
  }
  const gone = await numberOf(ledger, FORGOTTEN);
  const mark = known ?? (await textOnce(ledger, NAME, randomBytes(16).toString("hex")));
  // New data: nothing in it was to be erased.
  if (known === undefined) await mongoErasureWatermark(data).noteForgotten(gone);
  if ((await textOnce(data, NAME, mark)) !== mark) {
    throw new StartError(`${of} was just begun with another ledger than ${kept}: start again`);
  }
  const { erased, accepted, forgotten } = await seenBy(data);
  const isOlder = Math.max(erased, accepted) > (await newestSequence(ledger));
  if (isOlder || !(await hasKeys(ledger, await newestEntities(data)))) {
    throw new StartError(`${kept} is older than ${of}: put back the newest one`);
  }
  if (gone > Math.max(erased, forgotten)) {
    throw new StartError(
      `${of} is older than deletions that ${kept} has forgotten (deletions.keep): put back a newer one`,
    );
  }
}

/** More than are ever made at one time: a key that an older ledger lacks is that of one of the newest, whatever the clocks of processes say. */
const NEWEST = 1000;

/** Ids of the newest entities that have a key. */
async function newestEntities(data: Db): Promise<string[]> {
  const { entities } = entityRecords(data, systemClock);
  const newest = entities.find({ born: { $gt: 0 } }, { projection: { _id: 1 } });
  return (await newest.sort({ born: -1 }).limit(NEWEST).toArray()).map(({ _id }) => _id);
}

/** Whether the ledger has a key of each of these ids, overwritten or not. */
async function hasKeys(ledger: Db, ids: readonly string[]): Promise<boolean> {
  const found = await findByIds(entityKeysOf(ledger), ids, { projection: { _id: 1 } });
  return found.length === ids.length;
}
