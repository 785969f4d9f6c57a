/** PORT. How much of the ledger the entity data has seen. Kept with the data, so that data restored from a backup says an older number. */
export interface ErasureWatermark {
  /** 0 at first. */
  read(): Promise<number>;
  /** Never goes down. */
  write(sequence: number): Promise<void>;
}
