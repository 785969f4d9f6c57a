import type { Attribute, Issue } from "../../client/client.js";
import type { Page } from "../view.js";

/** Properties that all rows of a rule share. */
export interface RowContext {
  readonly page: Page;
  readonly table: string;
  /** Reads the attributes of the table once. */
  attributes(): Promise<readonly Attribute[]>;
  /** The first error of the rule. */
  readonly issue: Issue | undefined;
  /** Key of the row that was added last, which takes the focus. */
  readonly added: { current: number | undefined };
}
