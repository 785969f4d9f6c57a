import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly label: string;
  readonly class?: string;
  /** Removes the dialog; the focus returns to where it was. */
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/**
 * A modal dialog. Escape removes it at once, as the event `close` may come after the next key: that key would open
 * nothing, and the late event would close what it opened.
 */
export function Dialog({ label, class: className, close, children }: DialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-label={label}
      onClose={() => dialog.current && close()}
      onKeyDownCapture={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      {children}
    </dialog>
  );
}
