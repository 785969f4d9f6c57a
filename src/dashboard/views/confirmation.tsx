import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const WORD = "DELETE";

interface ConfirmationProps {
  readonly isRunning: boolean;
  readonly onConfirm: () => void;
}

/**
 * A field for the word that confirms a deletion, and the button that it enables. The field gets the focus if its card
 * has it.
 */
export function Confirmation({ isRunning, onConfirm }: ConfirmationProps): VNode {
  const [word, setWord] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current?.closest(".card")?.contains(document.activeElement)) field.current.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (word === WORD) onConfirm();
  };
  return (
    <form class="controls" autocomplete="off" onSubmit={submit}>
      <label>
        Type {WORD} to confirm{" "}
        <input
          ref={field}
          autocomplete="off"
          spellcheck={false}
          value={word}
          onInput={({ currentTarget }) => setWord(currentTarget.value)}
        />
      </label>
      <button type="submit" class="danger" disabled={word !== WORD || isRunning}>
        Delete
      </button>
    </form>
  );
}
