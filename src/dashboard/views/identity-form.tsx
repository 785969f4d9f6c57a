import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { Choice } from "../page/choice.js";
import type { Tables } from "../tables.js";
import { fieldOf } from "./field-of.js";
import { useFocus } from "./use-focus.js";

/** An identity as a person types it. It is never part of an address, the history or a storage. */
export interface TypedIdentity {
  readonly table: string;
  readonly field: string;
  readonly value: string;
}

/** The form's state before anything is typed: the first table and its first identity field. */
export function firstIdentity(tables: Tables): TypedIdentity {
  const [table = "user", fields = []] = Object.entries(tables)[0] ?? [];
  return { table, field: fields[0] ?? "_uid", value: "" };
}

interface IdentityFormProps {
  readonly tables: Tables;
  readonly identity: TypedIdentity;
  readonly onChange: (identity: TypedIdentity) => void;
  readonly onSubmit: () => void;
  /** Whether the value has the focus at first. */
  readonly hasFocus?: boolean;
  /** The buttons. */
  readonly children: ComponentChildren;
}

/** Table and field as selects, and the value. The field follows the value until it is chosen. */
export function IdentityForm({
  tables,
  identity,
  onChange,
  onSubmit,
  hasFocus = false,
  children,
}: IdentityFormProps): VNode {
  const field = useFocus<HTMLInputElement>(hasFocus);
  const [isChosen, setChosen] = useState(false);
  const fields = tables[identity.table] ?? [];
  const submit = (event: Event) => {
    event.preventDefault();
    if (identity.value !== "") onSubmit();
  };
  const choose = (changed: TypedIdentity) => {
    const isOtherTable = changed.table !== identity.table;
    setChosen(!isOtherTable);
    onChange(isOtherTable ? { ...changed, field: fieldOf(identity.value, tables[changed.table] ?? []) } : changed);
  };
  const type = (value: string) =>
    onChange({ ...identity, value, field: isChosen ? identity.field : fieldOf(value, fields) });
  return (
    <form class="fields" autocomplete="off" onSubmit={submit}>
      <FieldChoice tables={tables} identity={identity} onChange={choose} />
      <label>
        Value
        <input
          ref={field}
          autocomplete="off"
          spellcheck={false}
          value={identity.value}
          onInput={({ currentTarget }) => type(currentTarget.value)}
        />
      </label>
      <div class="controls">{children}</div>
    </form>
  );
}

interface FieldChoiceProps extends Pick<IdentityFormProps, "tables" | "identity" | "onChange"> {
  /** Label of the empty field, if it can be chosen. */
  readonly noField?: string;
}

/** Table and field as selects. */
export function FieldChoice({ tables, identity, onChange, noField }: FieldChoiceProps): VNode {
  const chooseTable = (table: string) => onChange({ ...identity, table, field: tables[table]?.[0] ?? "" });
  return (
    <>
      <Choice label="Table" value={identity.table} options={Object.keys(tables)} onChoose={chooseTable} />
      <Choice
        label="Field"
        value={identity.field}
        options={[...(noField === undefined ? [] : [""]), ...(tables[identity.table] ?? [])]}
        words={(field) => field || (noField as string)}
        onChoose={(field) => onChange({ ...identity, field })}
      />
    </>
  );
}
