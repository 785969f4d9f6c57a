import { useEffect, useState } from "preact/hooks";
import { openDeletionForm } from "../opened.js";
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
      else if (event.key === "m") addMark(event);
      else if (event.key === "t" || event.key === "c")
        document.querySelector<HTMLElement>(`main [data-key=${event.key}]`)?.click();
      else if (event.key === "d" || event.key === "D") {
        event.preventDefault();
        openDeletionForm(event.key === "d" ? "one" : "many", { go });
      } else if (event.key === "/") focusSearch(event);
      else if (view !== undefined) go({ view: view.name });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return { dialog, show };
}

/** Adds a mark to the chart under the pointer or with the focus, else to the first one. */
function addMark(event: KeyboardEvent): void {
  const chart = ["figure:hover", "figure:focus-within", "figure"].find((one) => document.querySelector(one) !== null);
  const button = document.querySelector<HTMLElement>(`${chart} [data-key=m]`);
  if (button === null) return;
  event.preventDefault();
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
