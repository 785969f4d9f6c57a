import { randomBytes } from "node:crypto";
import type { Db } from "mongodb";
import { StartError } from "../../errors.js";
import { mongoErasureWatermark } from "./erasure-watermark.js";
import { newestSequence } from "./ledger-sequence.js";
import { textOf, textOnce } from "./marks.js";

/** In both databases: a random mark of the ledger that the data was made with. */
const NAME = "ledger";

/**
 * Refuses data whose ledger is gone, is another's, or knows of fewer erasures than the data: the keys of its profiles
 * would be missing, and who was erased since would be unknown. Data older than its ledger is what a backup brings, and is let
 * in. Several processes may do this at once, also with empty databases: the ledger is marked before the data is.
 */
export async function matchLedger(ledger: Db, data: Db): Promise<void> {
  const [kept, of] = [ledger.databaseName, data.databaseName];
  const known = await textOf(data, NAME);
  if (known !== undefined && (await textOf(ledger, NAME)) !== known) {
    throw new StartError(`${kept} is missing or another one's: put back the newest one that ${of} was used with`);
  }
  const mark = known ?? (await textOnce(ledger, NAME, randomBytes(16).toString("hex")));
  if ((await textOnce(data, NAME, mark)) !== mark) {
    throw new StartError(`${of} was just begun with another ledger than ${kept}: start again`);
  }
  const seen = await mongoErasureWatermark(data).read();
  if (seen > (await newestSequence(ledger))) {
    throw new StartError(`${kept} is older than ${of}: put back the newest one`);
  }
}
