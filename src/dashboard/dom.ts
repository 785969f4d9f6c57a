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

/** A link to another state of this page. With Ctrl, Shift or ⌘ held down the browser opens it as it opens any link. */
export function link(href: string, open: () => void, attributes: Attributes, ...children: readonly Child[]) {
  const onclick = (event: Event) => {
    const { ctrlKey, metaKey, shiftKey } = event as MouseEvent;
    if (ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    open();
  };
  return el("a", { ...attributes, href, onclick }, ...children);
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

/**
 * Puts other content into a place. What is in both stays where it is; tables that were unfolded, how far they are scrolled, and the
 * focus are carried over to what takes their place, found again by what it is called.
 */
export function replaceContent(place: HTMLElement, content: readonly Node[]): void {
  const focused = place.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined;
  const called = focused === undefined ? "" : callOf(focused);
  const unfolded = new Set([...place.querySelectorAll("details[open] > summary")].map(callOf));
  const scrolled = new Map(
    [...place.querySelectorAll(".scroll[aria-label]")].map((one) => [callOf(one), one.scrollTop]),
  );
  const { scrollX, scrollY } = window;
  for (const old of [...place.childNodes]) if (!content.includes(old)) old.remove();
  content.forEach((node, index) => {
    const there = place.childNodes[index] ?? null;
    if (there !== node) place.insertBefore(node, there);
  });
  for (const summary of place.querySelectorAll("details > summary"))
    if (unfolded.has(callOf(summary))) summary.parentElement?.setAttribute("open", "");
  for (const one of place.querySelectorAll(".scroll[aria-label]")) one.scrollTop = scrolled.get(callOf(one)) ?? 0;
  scrollTo(scrollX, scrollY);
  if (focused === undefined || document.activeElement === focused) return;
  const again = [...place.querySelectorAll<HTMLElement>(focused.tagName)].find((one) => callOf(one) === called);
  (again ?? place).focus({ preventScroll: true });
}

function callOf(element: Element): string {
  return (
    element.id || element.getAttribute("data-is") || element.getAttribute("aria-label") || element.textContent || ""
  );
}
