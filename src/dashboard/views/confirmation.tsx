import type { VNode } from "preact";
import { useState } from "preact/hooks";

const WORD = "DELETE";

interface ConfirmationProps {
  readonly isRunning: boolean;
  readonly onConfirm: () => void;
}

/** A field for the word that confirms a deletion, and the button that it enables. */
export function Confirmation({ isRunning, onConfirm }: ConfirmationProps): VNode {
  const [word, setWord] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (word === WORD) onConfirm();
  };
  return (
    <form class="controls" autocomplete="off" onSubmit={submit}>
      <label>
        Type {WORD} to confirm{" "}
        <input
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
