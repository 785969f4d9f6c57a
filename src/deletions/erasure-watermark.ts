/** PORT. How much of the ledger the entity data has seen. Kept with the data, so that data restored from a backup says an older number. */
export interface ErasureWatermark {
  read(): Promise<number>;
  write(sequence: number): Promise<void>;
}
