import type { ApiKey } from "./api-key.js";

/** PORT. API keys by id. */
export interface KeyStore {
  add(key: ApiKey): Promise<void>;
  find(id: string): Promise<ApiKey | undefined>;
  /** All keys, revoked ones too, oldest first. */
  list(): Promise<ApiKey[]>;
  /** False when there is no such key. Safe to repeat; the first time stays. */
  revoke(id: string, at: number): Promise<boolean>;
}
