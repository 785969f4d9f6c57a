import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Page } from "../view.js";

/** The list is requested once typing pauses. */
const PAUSE_MS = 250;

/** The search of a list. Its text is part of the address. */
export function Search({ page, label }: { readonly page: Page; readonly label: string }): VNode {
  const [text, setText] = useState(page.address.q ?? "");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const requested = useRef(page.address.q);
  // A new list does not replace text that is being typed; another address, such as by the back button, does.
  useEffect(() => {
    if (page.address.q === requested.current) return;
    requested.current = page.address.q;
    setText(page.address.q ?? "");
  }, [page.address.q]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      requested.current = value || undefined;
      page.go({ q: requested.current }, { replace: true });
    }, PAUSE_MS);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a field of type search has a button of its own in some browsers.
    <input
      type="text"
      role="searchbox"
      aria-label="Search"
      placeholder={`Search ${label.toLowerCase()}`}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => type(currentTarget.value)}
    />
  );
}
