import type { VNode } from "preact";
import { Dialog } from "../page/dialog.js";

interface AskedProps {
  /** Numbers of people who would leave and join. */
  readonly text: string;
  readonly onConfirm: () => void;
  readonly close: () => void;
}

/** A dialog before a rule that people leave. Cancel has the focus first: Enter held down on Save rule saves nothing. */
export function Asked({ text, onConfirm, close }: AskedProps): VNode {
  const confirm = () => {
    close();
    onConfirm();
  };
  return (
    <Dialog label="Save the rule" close={close}>
      <p>{text}</p>
      <p class="controls">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={confirm}>
          Save all the same
        </button>
      </p>
    </Dialog>
  );
}
