import { useEffect, useState } from "preact/hooks";
import { open } from "../opened.js";
import { views } from "../views.js";
import type { Controller } from "./controller.js";

const typedInto = "input:not([type=checkbox]), select, textarea";

/** Listens for the keys of the page while no field has the focus and no dialog is open. */
export function useShortcuts({ go, refresh }: Controller) {
  const [dialog, show] = useState<"keys" | "go-to">();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        show("go-to");
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const isTyping = event.target instanceof Element && event.target.closest(typedInto) !== null;
      if (isTyping || document.querySelector("dialog[open]") !== null) return;
      const view = views.filter(({ parent }) => parent === undefined)[Number(event.key) - 1];
      if (event.key === "?") show("keys");
      else if (event.key === "r") refresh();
      else if (event.key === "d" || event.key === "D") {
        event.preventDefault();
        open("deletions", { form: event.key === "d" ? "one" : "many" }, { go });
      } else if (event.key === "/") focusSearch(event);
      else if (view !== undefined) go({ view: view.name });
      else if (/^[a-z]$/.test(event.key)) pressButton(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return { dialog, show };
}

/** Presses the button of a key: of the chart under the pointer or with the focus, else the first of the view. */
function pressButton(event: KeyboardEvent): void {
  const places = ["figure:hover", "figure:focus-within", "main"].map((place) => `${place} [data-key=${event.key}]`);
  const [button] = places.flatMap((place) => document.querySelector<HTMLElement>(place) ?? []);
  if (button === undefined) return;
  event.preventDefault();
  // The point of a chart, at which a mark is added, is kept while the chart has the focus.
  if (event.key !== "m") button.focus();
  button.click();
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>(
    "main [role=searchbox], main [role=combobox], main input:not([type=checkbox])",
  );
  if (field === null) return;
  event.preventDefault();
  field.focus();
}
