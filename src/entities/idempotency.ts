/** Progress of one request that carried an `Idempotency-Key`. Nothing of the key or of the messages can be read from it. */
export interface IdempotentRequest {
  /** Keyed hash (HMAC under the pepper) of the API key id, path, query and idempotency key, hex. */
  readonly id: string;
  /** First arrival: messages that name no event time keep it when the request is repeated. */
  readonly arrival: number;
  /** Messages done with, from the start of the body. */
  readonly done: number;
  /** Running keyed hash over the messages done with, hex. */
  readonly digest: string;
  readonly finished: boolean;
  /** What the answer has said of them so far: counts, and issues by position. JSON, nothing of the input in it. */
  readonly tally: string;
}

/** PORT. Requests that may be repeated. */
export interface Idempotency {
  /**
   * Takes the request for `owner` until `until`, and hands out its progress so far (a fresh one begins at `now`).
   * Undefined while another owner has it: until its `until`, unless that is later than this `until`, as the clock has been
   * set back since. A record that is 24 h old is as good as none.
   */
  begin(id: string, owner: string, now: number, until: number): Promise<IdempotentRequest | undefined>;
  /** Notes progress and keeps the request for `owner` until `until`. Resolves when it survives a crash. */
  advance(request: IdempotentRequest, owner: string, until: number): Promise<void>;
  /** Lets the next owner in. */
  release(id: string, owner: string): Promise<void>;
  /** Removes the records that are 24 h old at `now` and that no owner has. Safe to repeat. */
  forget(now: number): Promise<void>;
}
