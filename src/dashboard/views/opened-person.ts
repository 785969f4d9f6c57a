import type { Page } from "../view.js";
import type { TypedIdentity } from "./identity-form.js";

/** The identity that another view has opened, until People takes it. No address, history or storage contains it. */
let opened: TypedIdentity | undefined;

/** Opens the profile with this identity. */
export function openPerson(identity: TypedIdentity, page: Pick<Page, "go">): void {
  opened = identity;
  page.go({ view: "people" });
}

/** Returns the opened identity once; undefined if People was opened by itself. */
export function takeOpenedPerson(): TypedIdentity | undefined {
  const identity = opened;
  opened = undefined;
  return identity;
}
