/** How many writes have begun and ended at some indexes, each since the beginning; 0 where an index is missing. */
export interface EpochNumbers {
  readonly begun: ReadonlyMap<number, number>;
  readonly ended: ReadonlyMap<number, number>;
}

/** PORT. Numbers of writes of series by index of their epoch, shared by all processes over the same stores. */
export interface SharedEpochs {
  /** Adds to the numbers. Resolves with those at the same indexes when every later `read` sees it. A call that rejects may have added. */
  add(more: EpochNumbers): Promise<EpochNumbers>;
  /** All numbers with their version; undefined when `version` is theirs still. Sees every `add` that resolved before the call, in every process. */
  read(version: number): Promise<(EpochNumbers & { readonly version: number }) | undefined>;
}
