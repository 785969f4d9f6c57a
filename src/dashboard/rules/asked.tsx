import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface AskedProps {
  /** Numbers of people who would leave and join. */
  readonly text: string;
  readonly onConfirm: () => void;
  readonly close: () => void;
}

/** A dialog before a rule that people leave. Cancel has the focus first: Enter held down on Save rule saves nothing. */
export function Asked({ text, onConfirm, close }: AskedProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const confirm = () => {
    dialog.current?.close();
    onConfirm();
  };
  return (
    <dialog ref={dialog} aria-label="Save the rule" onClose={close}>
      <p>{text}</p>
      <p class="controls">
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={confirm}>
          Save all the same
        </button>
      </p>
    </dialog>
  );
}
