import { ERASED } from "../deletions/ports.js";
import { StartError } from "../errors.js";
import type { Facts } from "../facts.js";
import { randomId } from "../ids.js";

/** In both databases: a random mark of the ledger that the data was created with. */
export const LEDGER_MARK = "ledger";

/** In the ledger: the wrapped key of receipts. */
export const RECEIPT_KEY = "receipt key";

/** In the data: the newest number of a request that was ever accepted. */
export const ACCEPTED = "accepted";

/**
 * In the ledger: the newest number of a request that was removed, or may be. Numbers up to it are not assigned again.
 */
export const FORGOTTEN = "forgotten";

/** In the data: the newest generation of segments and rules; see `SegmentDeletions`. */
export const SEGMENT_GENERATION = "segment deletions";

/**
 * Number of newest profiles and messages whose keys are looked up. It exceeds the number created at one time: an older
 * ledger lacks the newest keys, even if clocks differ.
 */
export const NEWEST = 1000;

/** A ledger that is compared with its data. */
interface ComparedLedger {
  readonly facts: Facts;
  /** Its name for the operator. */
  readonly name: string;
  /** Returns the number of the newest request ever accepted. */
  accepted(): Promise<number>;
  /**
   * Returns whether the ledger has a key record, overwritten or not, of each of the newest profiles in the data, and
   * every request without a number that the data has a note of.
   */
  hasNewest(): Promise<boolean>;
}

/**
 * Refuses data that must not be used with this ledger: another or an older one lacks keys of profiles and misses later
 * deletions. Data older than its ledger comes from a backup and is allowed here. Marks new data and returns the mark.
 * Several processes may do this concurrently, also with empty databases: the ledger is marked before the data is. Reads
 * the facts in the opposite order of their writing, because other processes may be writing them.
 */
export async function matchLedger(
  ledger: ComparedLedger,
  data: { readonly facts: Facts; readonly name: string },
): Promise<string> {
  const known = await data.facts.text(LEDGER_MARK);
  const mark = await (known === undefined
    ? ledger.facts.textOnce(LEDGER_MARK, randomId())
    : ledger.facts.text(LEDGER_MARK));
  const newestInData = Math.max(await data.facts.number(ERASED), await data.facts.number(ACCEPTED));
  const isOlder = !(await ledger.hasNewest()) || newestInData > (await ledger.accepted());
  if (mark === undefined || (known !== undefined && known !== mark)) {
    throw new StartError(
      `${ledger.name} is missing or belongs to other data: put back the newest one that ${data.name} was used with`,
    );
  }
  if (isOlder) throw new StartError(`${ledger.name} is older than ${data.name}: put back the newest one`);
  // Writes at every start, so that a user without the right to write is refused at the start.
  const stored = await data.facts.textOnce(LEDGER_MARK, mark);
  if (stored === mark) return stored;
  throw new StartError(`${data.name} is being initialized with another ledger than ${ledger.name}: start again`);
}
