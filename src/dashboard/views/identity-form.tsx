import type { ComponentChildren, VNode } from "preact";
import type { Tables } from "../tables.js";

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
  /** The buttons. */
  readonly children: ComponentChildren;
}

/** Table and field as selects, and the value. */
export function IdentityForm({ tables, identity, onChange, onSubmit, children }: IdentityFormProps): VNode {
  const submit = (event: Event) => {
    event.preventDefault();
    if (identity.value !== "") onSubmit();
  };
  const chooseTable = (table: string) => onChange({ ...identity, table, field: tables[table]?.[0] ?? "" });
  return (
    <form class="fields" autocomplete="off" onSubmit={submit}>
      <label>
        Table
        <select value={identity.table} onChange={({ currentTarget }) => chooseTable(currentTarget.value)}>
          {Object.keys(tables).map((table) => (
            <option key={table} value={table}>
              {table}
            </option>
          ))}
        </select>
      </label>
      <label>
        Field
        <select
          value={identity.field}
          onChange={({ currentTarget }) => onChange({ ...identity, field: currentTarget.value })}
        >
          {(tables[identity.table] ?? []).map((field) => (
            <option key={field} value={field}>
              {field}
            </option>
          ))}
        </select>
      </label>
      <label>
        Value
        <input
          autocomplete="off"
          spellcheck={false}
          value={identity.value}
          onInput={({ currentTarget }) => onChange({ ...identity, value: currentTarget.value })}
        />
      </label>
      <div class="controls">{children}</div>
    </form>
  );
}
