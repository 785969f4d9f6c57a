/**
 * PORT. What the entity data knows of its ledger. Kept with the data, so that data restored from a backup knows less; the
 * start of an engine compares it with the ledger.
 */
export interface ErasureWatermark {
  /** How much of the ledger the data has seen: all requests up to this number are erased in it. 0 at first. */
  read(): Promise<number>;
  /** Never goes down. */
  write(sequence: number): Promise<void>;
  /**
   * Notes that completed requests up to this number are about to be forgotten, all of which are erased in the data. Data without
   * the note is refused at the next start, unless it has seen as much of the ledger.
   */
  noteForgotten(sequence: number): Promise<void>;
}
