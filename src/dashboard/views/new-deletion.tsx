import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DeletionForm } from "../opened.js";
import { Later } from "../page/later.js";
import type { Tables } from "../tables.js";
import type { Page } from "../view.js";
import { DeletionFlow } from "./deletion-flow.js";
import { firstIdentity, IdentityForm, type TypedIdentity } from "./identity-form.js";
import { useFocus } from "./use-focus.js";

const deleteMany = async () => (await import("./delete-many.js")).DeleteMany;

/** The forms by their names in the menu, and the scope that each needs. */
const forms: readonly (readonly [form: DeletionForm, label: string, scope?: string])[] = [
  ["one", "One person", "entity:delete"],
  ["many", "Many people", "entity:delete"],
  ["request", "State of a request"],
];

/** The forms that a key may use. */
export const formsFor = ({ scopes }: Page) => forms.filter(([, , scope]) => scope === undefined || scopes.has(scope));

interface NewDeletionProps {
  readonly form: DeletionForm;
  readonly onForm: (form: DeletionForm) => void;
  readonly tables: Tables;
  readonly page: Page;
  /** Called with the id of a request that was accepted, or looked up. */
  readonly onRequest: (requestId: string) => void;
}

/** A menu of the forms, and the chosen one. Its first field gets the focus. */
export function NewDeletion({ form, onForm, tables, page, onRequest }: NewDeletionProps): VNode {
  const [identity, setIdentity] = useState<TypedIdentity>(() => firstIdentity(tables));
  const [confirmed, setConfirmed] = useState<TypedIdentity>();
  const change = (changed: TypedIdentity) => {
    setIdentity(changed);
    setConfirmed(undefined);
  };
  return (
    <>
      <section class="card">
        <h2>New deletion</h2>
        <div class="controls">
          {formsFor(page).map(([name, label]) => (
            <button key={name} type="button" aria-pressed={form === name} onClick={() => onForm(name)}>
              {label}
            </button>
          ))}
        </div>
        {form === "one" && (
          <IdentityForm
            tables={tables}
            identity={identity}
            onChange={change}
            onSubmit={() => setConfirmed(identity)}
            hasFocus
          >
            <button type="submit" class="primary">
              Preview
            </button>
          </IdentityForm>
        )}
        {form === "many" && <Later script={deleteMany} props={{ tables, page }} />}
        {form === "request" && <LookUp onSubmit={onRequest} />}
      </section>
      {form === "one" && confirmed !== undefined && (
        <DeletionFlow identity={confirmed} page={page} onRequested={onRequest} />
      )}
    </>
  );
}

/** The field for the id of a request. */
function LookUp({ onSubmit }: { readonly onSubmit: (requestId: string) => void }): VNode {
  const [text, setText] = useState("");
  const field = useFocus<HTMLInputElement>();
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "") onSubmit(text.trim());
  };
  return (
    <form class="controls" onSubmit={submit}>
      <label>
        Request id{" "}
        <input
          ref={field}
          size={34}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Show
      </button>
    </form>
  );
}
