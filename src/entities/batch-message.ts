import type { Stamp } from "./entity.js";
import type { IdentityHash } from "./identity.js";
import type { Message } from "./message.js";
import type { Table } from "./tables.js";

/** A message on its way into the profiles. */
export interface BatchMessage {
  /** Names it in the history. */
  readonly id: string;
  readonly table: Table;
  readonly stream: string;
  readonly message: Message;
  /** Of its identities, in their order. */
  readonly hashes: readonly IdentityHash[];
  readonly stamp: Stamp;
  /** About what it takes up. */
  readonly bytes: number;
}
