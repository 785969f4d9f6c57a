import type { EntityId } from "../entities/entity.js";
import type { IdentityHash } from "../entities/identity.js";

/** A deletion request as the ledger keeps it: event, outbox and suppression in one record. */
export interface Deletion {
  /** 20 lower-case hex characters, `-`, epoch seconds. */
  readonly requestId: string;
  readonly table: string;
  /** The identity that was asked for. */
  readonly identity: IdentityHash;
  readonly acceptedAt: number;
  /** Messages not after this moment (Unix ms) are dropped. Only goes up. */
  readonly cutOff: number;
  /** What is erased. Its first id owns the key that seals `sealedIdentities`. Only grows. */
  readonly entities: readonly EntityId[];
  /** Every identity known of them. Only grows. */
  readonly hashes: readonly IdentityHash[];
  /** Identities as written, for remote targets, sealed under the key of `entities[0]`. */
  readonly sealedIdentities: Uint8Array;
  /** Names of the downstream targets, fixed at acceptance. */
  readonly targets: readonly string[];
  /** Stages done with: `profile`, then target names, then `verified`, `key`. For the list of open requests; every stage can be repeated. */
  readonly done: readonly string[];
  /** Failed attempts since the last progress. */
  readonly attempts: number;
  /** Unix ms before which it is not tried again. */
  readonly notBefore: number;
  /** Goes up with each extension and repeat. */
  readonly revision: number;
  readonly completedAt: number | undefined;
}
