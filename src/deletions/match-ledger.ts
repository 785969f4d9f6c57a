import { StartError } from "../errors.js";

/**
 * Facts that a start compares: the ledger and the entity data. Numbers are sequence numbers of requests; 0 means none.
 */
export interface LedgerFacts {
  readonly ledger: {
    /** Random mark of the ledger; undefined for a new ledger. */
    readonly mark: string | undefined;
    /** The newest request ever accepted. */
    readonly accepted: number;
    /**
     * Whether the ledger has a key record, overwritten or not, of each of the newest profiles in the data, and every
     * request without a number that the data has a note of.
     */
    readonly hasNewest: boolean;
  };
  readonly data: {
    /** Mark of the ledger that the data was created with; undefined for new data. */
    readonly mark: string | undefined;
    /** All requests up to this number are erased in the data. */
    readonly erased: number;
    /** The newest accepted request that the data has a note of. */
    readonly accepted: number;
  };
}

/** Names of both stores for the operator. */
interface StoreNames {
  readonly ledger: string;
  readonly data: string;
}

/**
 * Returns the error of a start if the data must not be used with the ledger. Another or an older ledger lacks keys of
 * profiles and misses later deletions. Data older than its ledger comes from a backup and is allowed here.
 */
export function ledgerMismatch({ ledger, data }: LedgerFacts, names: StoreNames): StartError | undefined {
  if (data.mark !== undefined && data.mark !== ledger.mark) {
    return new StartError(
      `${names.ledger} is missing or belongs to other data: put back the newest one that ${names.data} was used with`,
    );
  }
  const isOlder = Math.max(data.erased, data.accepted) > ledger.accepted || !ledger.hasNewest;
  return isOlder ? new StartError(`${names.ledger} is older than ${names.data}: put back the newest one`) : undefined;
}

/**
 * Number of newest profiles and messages whose keys are looked up. It exceeds the number created at one time: an older
 * ledger lacks the newest keys, even if clocks differ.
 */
export const NEWEST = 1000;
