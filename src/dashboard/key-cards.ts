import { card, el } from "./dom.js";

export interface KeyUses {
  /** Why the key that is held does not do; undefined where none is held, or another is wanted. */
  readonly why: string | undefined;
  readonly use: (key: string) => void;
  /** Undefined where no key is held. */
  readonly forget: (() => void) | undefined;
}

/** What a key is, and the field for it. */
export function keyCard({ why, use, forget }: KeyUses): HTMLElement {
  const field = el("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", size: 46 });
  const onsubmit = (event: Event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (key !== "") use(key);
  };
  return card(
    why === undefined ? "A key, please" : "This key does not open anything",
    why === undefined ? undefined : el("p", { role: "alert" }, why),
    el("p", {}, "Requests carry an API key. The first start of the service made one; this command makes more:"),
    el("pre", { tabindex: 0 }, "npm run key -- create --scopes metric:read,entity:read --name dashboard"),
    el(
      "form",
      { onsubmit },
      el("label", { for: "key" }, "API key "),
      field,
      " ",
      el("button", { type: "submit" }, "Use it"),
      " ",
      forget && el("button", { type: "button", onclick: forget }, "Forget it"),
    ),
    el("p", { class: "note" }, "It stays in this tab until the tab is closed, and is sent to this service alone."),
  );
}

/** What stands in place of a view that the key does not open. */
export function lockedCard(label: string, scopes: readonly string[]): HTMLElement {
  return card(
    `${label} needs another key`,
    el("p", {}, `This key does not have the scope ${scopes.join(" or ")}.`),
    el("pre", { tabindex: 0 }, `npm run key -- create --scopes ${scopes[0]} --name dashboard`),
  );
}
