import { el } from "./dom.js";

const dialog = el(
  "dialog",
  { "aria-label": "Keys" },
  el("h2", {}, "Keys"),
  el(
    "p",
    {},
    "1 to 7: the views · r: ask again · ?: this list · ← and → in a chart: its values, one after the other · Esc: close",
  ),
  el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
);
document.body.append(dialog);

export function showShortcuts(): void {
  if (!dialog.open) dialog.showModal();
}
