import type { ComponentType } from "preact";
import type { Client, KeyInfo, Mark } from "../client/client.js";
import type { Address, ViewName } from "./address.js";
import type { Zone } from "./format.js";

/** Input of a view for loading and drawing its data. */
export interface Page {
  readonly client: Client;
  readonly address: Address;
  readonly scopes: ReadonlySet<string>;
  /** The key in use; its bounds limit what it can read. */
  readonly key: KeyInfo;
  readonly zone: Zone;
  /** Marks that charts may contain; none before the view is drawn. */
  readonly marks: readonly Mark[];
  /** Instant of the load, Unix ms. */
  readonly now: number;
  /** Whether the timer loads the view again, so that parts that change seldom may be kept. */
  readonly isRefresh: boolean;
  /** Aborts requests whose result is no longer wanted. */
  readonly signal: AbortSignal;
  /** Shows another state of the page. The back button returns, unless `replace` is set. */
  go(change: Partial<Address>, options?: { readonly replace?: boolean }): void;
  /** Loads the view again. */
  reload(): void;
  /** Query of a link to another state of the page. */
  link(change: Partial<Address>): string;
}

export interface Loaded<D> {
  readonly data: D;
  /** Name of the thing that a page shows; its id when absent. */
  readonly title?: string | undefined;
  /** Whether the service contains nothing that this view could show. */
  readonly isEmpty?: boolean;
  /** Earliest time at which a reload can show something new, Unix ms; undefined: only on request. */
  readonly nextAt: number | undefined;
  /** Parts of the link that the service does not know, one sentence each. */
  readonly problems?: readonly string[];
}

/** A view as its script exports it. */
export interface ViewScript<D> {
  load(page: Page): Promise<Loaded<D>>;
  readonly Show: ComponentType<{ readonly data: D; readonly page: Page }>;
}

export interface View {
  readonly name: ViewName;
  readonly label: string;
  /** The view of the bar that contains this one. */
  readonly parent?: ViewName;
  /** A key needs one of these. */
  readonly scopes: readonly string[];
  readonly hasRange?: boolean;
  readonly canCompare?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each script has data of its own type, which only it reads.
  script(): Promise<ViewScript<any>>;
}
