import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface PopoverProps {
  /** Content of the button. */
  readonly label: ComponentChildren;
  readonly class?: string;
  /** Key that presses the button. */
  readonly shortcut?: string;
  /** Draws the panel below the button. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens a panel. Escape closes it and returns the focus; so does a press on another part of the page. */
export function Popover({ label, class: style, shortcut, children }: PopoverProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const close = () => {
    if (place.current?.contains(document.activeElement)) place.current.querySelector("button")?.focus();
    setOpen(false);
  };
  // Listens before the panel is painted, so that Escape works as soon as it is visible.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const onKey = ({ key }: KeyboardEvent) => key === "Escape" && close();
    const onPress = ({ target }: Event) => !place.current?.contains(target as Node) && setOpen(false);
    addEventListener("keydown", onKey);
    addEventListener("pointerdown", onPress);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("pointerdown", onPress);
    };
  }, [isOpen]);
  return (
    <div ref={place} class="popover">
      <button type="button" class={style} data-key={shortcut} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
      </button>
      {isOpen && children(close)}
    </div>
  );
}
