/**
 * PORT. A number that all processes over one set of stores share. Raising it makes each of them drop what it has cached: the
 * way to tell them of a write when news of it cannot be sent.
 */
export interface SharedEra {
  /** The number now; sees every `raise` that resolved before the call. */
  read(): Promise<number>;
  /** Makes it larger. Resolves when that survives a crash. */
  raise(): Promise<void>;
}
