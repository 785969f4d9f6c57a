import type { ViewName } from "./address.js";
import type { Page } from "./view.js";
import type { TypedIdentity } from "./views/identity-form.js";

/** The forms of Deletions: for one person, for the people of a file, for the state of a request. */
export type DeletionForm = "one" | "many" | "request";

/** Identity, request and form that another view has opened: never part of an address. */
interface Opened {
  readonly person: TypedIdentity;
  readonly request: string;
  readonly form: DeletionForm;
}

let opened: Partial<Opened> = {};

/** Leads to a view, which takes what is opened. */
export function open(view: ViewName, what: Partial<Opened>, { go }: Pick<Page, "go">): void {
  opened = what;
  go({ view });
}

/** Returns what was opened once; undefined if the view was opened by itself. */
export function takeOpened<K extends keyof Opened>(kind: K): Opened[K] | undefined {
  const { [kind]: taken, ...others } = opened;
  opened = others as Partial<Opened>;
  return taken;
}
