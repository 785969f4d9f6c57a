/** What a start reads of a ledger and of the entity data beside it. Numbers are sequence numbers of requests, 0 for none. */
export interface LedgerFacts {
  readonly ledger: {
    /** A random mark of the ledger; undefined for one that is new. */
    readonly mark: string | undefined;
    /** The newest request that was ever accepted, and that was ever forgotten. */
    readonly accepted: number;
    readonly forgotten: number;
    /** Whether it has a key, overwritten or not, of each of the newest profiles in the data. */
    readonly hasNewestKeys: boolean;
  };
  readonly data: {
    /** The mark of the ledger that the data was made with; undefined for data that is new. */
    readonly mark: string | undefined;
    /** All requests up to this one are erased in the data. */
    readonly erased: number;
    /** The newest request that the data knows to be accepted, and that it knows to be forgotten. */
    readonly accepted: number;
    readonly forgotten: number;
  };
}

/**
 * Returns why data must not be used with a ledger; undefined when it may be. With another or an older ledger, keys of profiles would be
 * missing, and who was erased since would be unknown. Data older than its ledger is what a backup brings, and is let in unless the
 * ledger has forgotten a request that the data has not seen.
 */
export function ledgerMismatch({
  ledger,
  data,
}: LedgerFacts): "another ledger" | "older ledger" | "data older than forgotten requests" | undefined {
  if (data.mark !== undefined && data.mark !== ledger.mark) return "another ledger";
  if (Math.max(data.erased, data.accepted) > ledger.accepted || !ledger.hasNewestKeys) return "older ledger";
  // New data contains nothing to erase.
  const isKnown = data.mark === undefined || ledger.forgotten <= Math.max(data.erased, data.forgotten);
  return isKnown ? undefined : "data older than forgotten requests";
}
