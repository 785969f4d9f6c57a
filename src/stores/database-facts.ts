import { ledgerMismatch } from "../deletions/match-ledger.js";
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

/** A ledger that is compared with its data. */
interface ComparedLedger {
  readonly facts: Facts;
  /** Its name for the operator. */
  readonly name: string;
  /** Returns the number of the newest request ever accepted. */
  accepted(): Promise<number>;
  /** See `LedgerFacts`. */
  hasNewest(): Promise<boolean>;
}

/**
 * Refuses data that does not belong to its ledger: see `ledgerMismatch`. Marks new data and returns the mark. Several
 * processes may do this concurrently, also with empty databases: the ledger is marked before the data is. Reads the
 * facts in the opposite order of their writing, because other processes may be writing them.
 */
export async function matchLedger(
  ledger: ComparedLedger,
  data: { readonly facts: Facts; readonly name: string },
): Promise<string> {
  const known = await data.facts.text(LEDGER_MARK);
  const mark = await (known === undefined
    ? ledger.facts.textOnce(LEDGER_MARK, randomId())
    : ledger.facts.text(LEDGER_MARK));
  const facts = {
    data: {
      mark: known,
      erased: await data.facts.number(ERASED),
      accepted: await data.facts.number(ACCEPTED),
    },
    ledger: { mark, hasNewest: await ledger.hasNewest(), accepted: await ledger.accepted() },
  };
  const error = ledgerMismatch(facts, { ledger: ledger.name, data: data.name });
  if (error !== undefined) throw error;
  // Writes at every start, so that a user without the right to write is refused at the start.
  const stored = await data.facts.textOnce(LEDGER_MARK, mark as string);
  if (stored === mark) return stored;
  throw new StartError(`${data.name} is being initialized with another ledger than ${ledger.name}: start again`);
}
