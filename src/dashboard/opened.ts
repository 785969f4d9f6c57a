import type { Page } from "./view.js";
import type { TypedIdentity } from "./views/identity-form.js";

/** The forms of Deletions: for one person, for the people of a file, for the state of a request. */
export type DeletionForm = "one" | "many" | "request";

/** Identity, request and form that another view has opened, until their view takes them: never part of an address. */
let person: TypedIdentity | undefined;
let request: string | undefined;
let form: DeletionForm | undefined;

/** Opens the profile with this identity. */
export function openPerson(identity: TypedIdentity, page: Pick<Page, "go">): void {
  person = identity;
  page.go({ view: "people" });
}

/** Opens the deletion request with this id. */
export function openRequest(requestId: string, page: Pick<Page, "go">): void {
  request = requestId;
  page.go({ view: "deletions" });
}

/** Opens a form of Deletions. */
export function openDeletionForm(wanted: DeletionForm, page: Pick<Page, "go">): void {
  form = wanted;
  page.go({ view: "deletions" });
}

/** Returns the opened identity once; undefined if People was opened by itself. */
export function takeOpenedPerson(): TypedIdentity | undefined {
  const taken = person;
  person = undefined;
  return taken;
}

/** Returns the opened request id once; undefined if Deletions was opened by itself. */
export function takeOpenedRequest(): string | undefined {
  const taken = request;
  request = undefined;
  return taken;
}

/** Returns the opened form once; undefined if Deletions was opened by itself. */
export function takeOpenedForm(): DeletionForm | undefined {
  const taken = form;
  form = undefined;
  return taken;
}
