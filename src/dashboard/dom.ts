type Child = Node | string | number | undefined | readonly Child[];
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

const SVG = "http://www.w3.org/2000/svg";

/** An element. `on…` attributes listen; true is an attribute without a value, false and undefined are none. Text enters as text alone. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
export function svg(tag: "svg" | "path", attributes: Attributes = {}, ...children: readonly Child[]): SVGElement {
  return filled(document.createElementNS(SVG, tag) as SVGElement, attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child as readonly Child[]);
    else if (child !== undefined) element.append(child instanceof Node ? child : String(child));
  }
}

/** A card of the page, with a heading. */
export function card(title: string, ...children: readonly Child[]): HTMLElement {
  return el("section", { class: "card" }, el("h2", {}, title), ...children);
}

/** A table that may be scrolled by itself. Cells that are numbers stand to the right. */
export function table(caption: string, heads: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  const cell = (value: Child, index: number) =>
    index === 0 ? el("th", { scope: "row" }, value) : el("td", { class: isAmount(value) && "number" }, value);
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      {},
      el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))),
    ),
  );
}

/** Whether a cell is one number, with its sign and unit. */
function isAmount(value: Child): boolean {
  return typeof value === "number" || (typeof value === "string" && /^[+−±]?[\d,.]+( ?(%|pp))?$/.test(value));
}
