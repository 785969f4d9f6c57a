export const scopes = ["entity:read", "entity:write", "entity:delete", "metric:read", "metric:write", "admin"] as const;

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
}
