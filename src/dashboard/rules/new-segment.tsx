import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { Later } from "../page/later.js";
import type { Page } from "../view.js";

const builder = async () => (await import("./builder.js")).Builder;

/** A button that opens the builder of a new segment. Only for a key with `admin`. */
export function NewSegment({ page }: { readonly page: Page }): VNode | null {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (!page.scopes.has("admin")) return null;
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button ref={button} type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        New segment by rule
      </button>
      {isOpen && <Later script={builder} props={{ page, close }} />}
    </>
  );
}
