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

/** An API key as it is kept: `em_<id>_<secret>` with only a digest of the secret. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** SHA-256 of the whole key as presented, hex. */
  readonly digest: string;
  readonly createdAt: number;
  readonly revokedAt: number | undefined;
  /** Start of the last UTC day on which the key was used, Unix ms; undefined before its first use. */
  readonly lastUsedOn: number | undefined;
}

/** Letters and digits only; a secret of 22 of them can hold 128 random bits. No key is longer than 256 characters. */
const SHAPE = /^em_([A-Za-z0-9]{1,64})_[A-Za-z0-9]{22,187}$/;

/** The id inside a key, or undefined when the text does not have the shape of one. */
export function keyIdOf(key: string): string | undefined {
  return SHAPE.exec(key)?.[1];
}

/** PORT. API keys by id. What resolved survives a crash. Rejects as every store does: see `ServiceErrorOf`. */
export interface KeyStore {
  /** Rejects when a key of this id is there already, which stays as it is. */
  add(key: ApiKey): Promise<void>;
  /** Revoked ones too; undefined when there is no such key. */
  find(id: string): Promise<ApiKey | undefined>;
  /** All keys, revoked ones too, oldest first. */
  list(): Promise<ApiKey[]>;
  /** Revokes the key at `at` (Unix ms). False when there is no such key. Safe to repeat; the first time stays. */
  revoke(id: string, at: number): Promise<boolean>;
  /** Stores that the key was used on the UTC day that starts at `day` (Unix ms), unless a later day is stored. Safe to repeat. */
  noteUse(id: string, day: number): Promise<void>;
}
