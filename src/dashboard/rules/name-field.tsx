import type { VNode } from "preact";
import { amount } from "../format.js";
import { Combobox, type Option } from "../search/combobox.js";
import { readTables } from "../tables.js";
import type { Condition, NamedKind } from "./draft.js";
import type { RowContext } from "./row-context.js";

/** Suggestions below the field. */
const OPTIONS = 12;

interface NameFieldProps {
  readonly kind: NamedKind;
  readonly condition: Condition;
  readonly context: RowContext;
  readonly onChange: (changed: Partial<Condition>) => void;
}

/** The name of an attribute, a stream or a segment, with suggestions. */
export function NameField({ kind, condition: { key, name }, context, onChange }: NameFieldProps): VNode {
  return (
    <Combobox<Option>
      id={`names-${key}`}
      label="Name"
      placeholder={placeholders[kind]}
      subject={`${kind}s`}
      value={name}
      onText={(text) => onChange({ name: text })}
      find={(text, signal) => suggestions[kind](text, context, signal)}
      onChoose={(option) => onChange({ name: option.key })}
    />
  );
}

const placeholders: Readonly<Record<NamedKind, string>> = {
  attribute: "plan",
  stream: "web",
  segment: "id of a segment",
};

type Suggest = (text: string, context: RowContext, signal: AbortSignal) => Promise<Option[]>;

const suggestions: Readonly<Record<NamedKind, Suggest>> = {
  async attribute(text, { attributes, table }) {
    const found = (await attributes()).map(({ name, types, share }): Option => {
      return { key: name, text: name, note: `${types.join(", ")} · ${amount(share, "rate")}` };
    });
    const identities = (readTables()[table] ?? []).map((name): Option => ({ key: name, text: name, note: "identity" }));
    return [...found, ...identities].filter(({ key }) => key.includes(text)).slice(0, OPTIONS);
  },
  async stream(text, { page }, signal) {
    const { data } = await page.client.page("stream", { q: text || undefined, limit: OPTIONS }, { signal });
    return data.map(({ stream }) => ({ key: stream, text: stream, note: "" }));
  },
  async segment(text, { page, table }, signal) {
    const query = { q: text || undefined, table, limit: OPTIONS };
    const { data } = await page.client.page("segment", query, { signal });
    return data.map(({ id, name }) => ({ key: id, text: name, note: name === id ? "" : id }));
  },
};
