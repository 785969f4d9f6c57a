/** A store as `/ready` names it. */
export interface Probe {
  readonly name: string;
  /** Whether the service is of no use without it. */
  readonly required: boolean;
  /** Rejects when it is away; resolves with a word when something about it is not as it should be. */
  check(): Promise<string | undefined>;
}
