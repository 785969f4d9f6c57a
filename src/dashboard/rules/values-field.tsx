import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { partsOf, trimmed } from "./draft.js";

interface ValuesFieldProps {
  /** The values between commas. */
  readonly text: string;
  readonly isWrong: boolean;
  readonly onType: (text: string) => void;
}

/**
 * A field for several values, which are chips. A comma or Enter ends the value that is typed; Backspace in the empty
 * field removes the last one.
 */
export function ValuesField({ text, isWrong, onType }: ValuesFieldProps): VNode {
  const [isTyping, setTyping] = useState(false);
  const all = partsOf(text);
  // The value that is being typed is not a chip yet.
  const typed = isTyping && !text.endsWith(",") ? (all.pop() ?? "").trimStart() : "";
  const parts = trimmed(all);
  const put = (chips: readonly string[], last: string) => onType([...chips, last].join(", "));
  const focus = () => {
    setTyping(true);
    if (parts.length > 0) put(parts, "");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Backspace" && typed === "" && parts.length > 0) put(parts.slice(0, -1), "");
    else if (event.key === "Enter" && typed !== "") put([...parts, typed], "");
    else return;
    event.preventDefault();
  };
  return (
    <span class="values-field">
      {parts.map((part, index) => (
        <span key={`${index} ${part}`} class="chip">
          <bdi>{part}</bdi>
          <button
            type="button"
            class="icon"
            tabIndex={-1}
            aria-label={`Remove ${part}`}
            onClick={() => put(parts.toSpliced(index, 1), typed)}
          >
            ×
          </button>
        </span>
      ))}
      <input
        aria-label="Value"
        aria-invalid={isWrong || undefined}
        placeholder={parts.length === 0 ? "pro, team" : "+"}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onFocus={focus}
        onBlur={() => setTyping(false)}
        onInput={({ currentTarget }) => put(parts, currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </span>
  );
}
