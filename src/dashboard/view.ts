import type { Client } from "../client/client.js";
import type { Address, ViewName } from "./address.js";

/** What a view is handed when it asks for what it shows. */
export interface Asked {
  readonly client: Client;
  readonly address: Address;
  readonly scopes: ReadonlySet<string>;
  /** Unix ms. */
  readonly now: number;
  /** Ends what is asked for when it is no longer wanted. */
  readonly signal: AbortSignal;
  /** Shows another address; the back button leads here again. */
  go(change: Partial<Address>): void;
  /** Asks again for what is shown. */
  again(): void;
}

/** What a view shows. */
export interface Shown {
  readonly content: readonly Node[];
  /** Whether the service holds nothing that this view could show. */
  readonly empty?: boolean;
  /** When asking again can show something new, Unix ms; undefined: on request alone. */
  readonly nextAt: number | undefined;
}

export interface View {
  readonly name: ViewName;
  readonly label: string;
  /** A key needs one of these. */
  readonly scopes: readonly string[];
  script(): Promise<{ load(asked: Asked): Promise<Shown> }>;
}
