export const scopes = [
  "entity:read",
  "entity:write",
  "entity:delete",
  "entity:export",
  "metric:read",
  "metric:write",
  "admin",
] as const;

export type Scope = (typeof scopes)[number];

/** Limits of a key besides its scopes, and how its calls count; an absent limit limits nothing. */
export interface KeyBounds {
  /** The only stream that the key writes to. */
  readonly stream?: string;
  /** Set if the events of its calls count for streams of their own. */
  readonly eventStreams?: true;
  /** Attributes that reads return; `segments` and `meta` count as names. */
  readonly fields?: readonly string[];
  /** The only identity field that reads and messages use. */
  readonly by?: string;
  /** Origins whose pages may use the key. */
  readonly origins?: readonly string[];
  /** Maximum requests per minute. */
  readonly rate?: number;
  /** Time from which the key is refused, Unix ms. */
  readonly expiresAt?: number;
}

/** A stored API key: `em_<id>_<secret>` with only a digest of the secret. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly bounds: KeyBounds;
  /** SHA-256 of the whole key as presented, hex. */
  readonly digest: string;
  readonly createdAt: number;
  readonly revokedAt: number | undefined;
  /** Start of the last UTC day on which the key was used, Unix ms; undefined before its first use. */
  readonly lastUsedOn: number | undefined;
  /** Names of events that have streams of their own; absent before the first one. */
  readonly eventNames?: readonly string[];
}

/** Maximum names of events that have streams of their own, for one key. */
export const MAX_EVENT_NAMES = 500;

/** Only letters and digits; a secret of 22 of them can hold 128 random bits. A key has at most 256 characters. */
const SHAPE = /^em_([A-Za-z0-9]{1,64})_[A-Za-z0-9]{22,187}$/;

/** Returns the id inside a key; undefined if the text does not have the format of a key. */
export function keyIdOf(key: string): string | undefined {
  return SHAPE.exec(key)?.[1];
}

/** PORT. API keys by id. Resolved writes survive a crash. Rejects as every store does: see `ToServiceError`. */
export interface KeyStore {
  /** Rejects if a key of this id exists, which stays unchanged. */
  add(key: ApiKey): Promise<void>;
  /** Returns the key, also a revoked one; undefined if it does not exist. */
  find(id: string): Promise<ApiKey | undefined>;
  /** Returns all keys, revoked ones too, oldest first. */
  list(): Promise<ApiKey[]>;
  /** Revokes the key at `at` (Unix ms). Returns false if it does not exist. Safe to repeat; the first time is kept. */
  revoke(id: string, at: number): Promise<boolean>;
  /**
   * Stores that the key was used on the UTC day that starts at `day` (Unix ms), unless a later day is stored. Safe to
   * repeat.
   */
  recordUse(id: string, day: number): Promise<void>;
  /**
   * Stores further names of events, without duplicates, in their order, until the key has 500. Resolves with all
   * stored names; with none for an unknown key. Safe to repeat.
   */
  addEventNames(id: string, names: readonly string[]): Promise<readonly string[]>;
  /** Returns whether a key that is valid at `now` (Unix ms) is bound to this origin. */
  hasOrigin(origin: string, now: number): Promise<boolean>;
}
