import { ApiError, type Client, createClient, NotReached } from "../client/client.js";
import { type Address, addressText, ranges, readAddress } from "./address.js";
import { forgetCharts } from "./chart.js";
import { card, el } from "./dom.js";
import { isForbidden } from "./fetch-series.js";
import { clockTime, showLocalTime, zone } from "./format.js";
import type { Shown, View } from "./view.js";

/** In the order of the bar. The script of a view is loaded when it is first opened. */
const views: readonly View[] = [
  { name: "overview", label: "Overview", scopes: ["metric:read"], script: () => import("./overview.js") },
  { name: "segments", label: "Segments", scopes: ["metric:read"], script: () => import("./segments.js") },
  { name: "experiences", label: "Experiences", scopes: ["metric:read"], script: () => import("./experiences.js") },
  { name: "streams", label: "Streams", scopes: ["metric:read"], script: () => import("./streams.js") },
  { name: "explore", label: "Explore", scopes: ["metric:read"], script: () => import("./explore.js") },
  { name: "erasure", label: "Erasure", scopes: ["entity:delete", "admin"], script: () => import("./erasure.js") },
  { name: "health", label: "Health", scopes: ["metric:read"], script: () => import("./health.js") },
];

/** Shared with /docs; gone with the tab. */
const KEY = "api-key";
const LEAST_PAUSE_MS = 5_000;
const main = document.querySelector("main") as HTMLElement;
const bar = document.querySelector("header") as HTMLElement;

let address = readAddress(location.search);
let scopes: ReadonlySet<string> | undefined;
let client: Client | undefined;
let shown: Shown | undefined;
let under: AbortController | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
/** When the page asks again, Unix ms. */
let dueAt: number | undefined;
let note = "";

type State = "no-key" | "wrong-key" | "loading" | "ready" | "empty" | "stale";

function setState(state: State, content?: readonly Node[]): void {
  main.dataset.view = address.view;
  main.dataset.state = state;
  document.title = `${labelOf(address)} · entity-metrics`;
  if (state === "loading") main.setAttribute("aria-busy", "true");
  else main.removeAttribute("aria-busy");
  if (content !== undefined) {
    main.replaceChildren(el("h1", { class: "hidden" }, labelOf(address)), ...content);
    forgetCharts();
  }
  drawBar();
}

const labelOf = ({ view }: Address) => views.find(({ name }) => name === view)?.label ?? "";
const mayOpen = (view: View) => scopes === undefined || view.scopes.some((scope) => scopes?.has(scope));

function drawBar(): void {
  const link = (view: View) =>
    el(
      "a",
      {
        href: addressText({ ...address, view: view.name, ...(view.name === "explore" ? {} : { series: [] }) }),
        "aria-current": address.view === view.name && "page",
        onclick(event: Event) {
          if ((event as MouseEvent).ctrlKey || (event as MouseEvent).metaKey) return;
          event.preventDefault();
          go({ view: view.name, ...(view.name === "explore" ? {} : { series: [] }) });
        },
      },
      view.label,
      mayOpen(view) ? undefined : el("span", { class: "lock", title: `needs ${view.scopes.join(" or ")}` }, " 🔒"),
    );
  const focused = document.activeElement?.closest("header")
    ? document.activeElement?.getAttribute("data-is")
    : undefined;
  const options = ranges.map((range) => el("option", { value: range, selected: range === address.range }, range));
  const range = el("select", { "data-is": "range", onchange: () => go({ range: range.value }) }, ...options);
  const check = (is: string, label: string, checked: boolean, change: (on: boolean) => void) => {
    const box = el("input", { type: "checkbox", "data-is": is, onchange: () => change(box.checked) });
    box.checked = checked;
    return el("label", {}, box, ` ${label}`);
  };
  bar.replaceChildren(
    el("a", { class: "skip", href: "#main" }, "Skip to the content"),
    el("strong", {}, "entity-metrics"),
    el("nav", { "aria-label": "Views" }, ...views.map(link)),
    el(
      "div",
      { class: "tools" },
      el("label", {}, "Range ", range),
      check("compare", "Compare", address.compare, (compare) => go({ compare })),
      check("local", "Local time", zone() === "local", (on) => {
        showLocalTime(on);
        again();
      }),
      el("span", { class: "note", role: "status" }, note),
      el("button", { type: "button", "data-is": "key", onclick: () => askForKey() }, "Key"),
    ),
  );
  if (focused) bar.querySelector<HTMLElement>(`[data-is="${focused}"]`)?.focus();
}

function go(change: Partial<Address>, replace = false): void {
  const other = change.view !== undefined && change.view !== address.view;
  address = { ...address, ...change };
  history[replace ? "replaceState" : "pushState"](null, "", addressText(address));
  if (other) shown = undefined;
  again();
}

/** Asks for what the address says, now. */
function again(): void {
  void show();
}

async function show(): Promise<void> {
  under?.abort();
  clearTimeout(timer);
  dueAt = undefined;
  const own = new AbortController();
  under = own;
  const { signal } = own;
  const key = sessionStorage.getItem(KEY);
  if (!key) return askForKey();
  try {
    client ??= createClient({
      url: new URL(".", location.href).href,
      key: () => sessionStorage.getItem(KEY) ?? undefined,
      tries: 1,
    });
    if (shown === undefined) setState("loading", skeleton());
    else main.setAttribute("aria-busy", "true");
    // First and alone, each time: a key that was revoked costs one wrong key, not one for each request of a view.
    const opens = (await client.key({ signal })).scopes;
    if (scopes?.size !== opens.length || !opens.every((scope) => scopes?.has(scope))) scopes = new Set(opens);
    const view = views.find(({ name }) => name === address.view) as View;
    if (!mayOpen(view)) {
      note = "";
      return setState("ready", [locked(view)]);
    }
    const now = Date.now();
    const asked = { client, address, scopes, now, signal, go, again };
    const { load } = await view.script();
    const next = await load(asked);
    signal.throwIfAborted();
    shown = next;
    note = `as of ${clockTime(now)} ${zone()}${next.nextAt === undefined ? "" : ` · next ${clockTime(next.nextAt)}`}`;
    setState(next.empty ? "empty" : "ready", next.content);
    if (next.nextAt !== undefined)
      askAt(Math.max(next.nextAt, now + LEAST_PAUSE_MS - 2_000) + 2_000 + Math.random() * 3_000);
  } catch (error) {
    if (signal.aborted) return;
    fail(error);
  }
}

function fail(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) {
    scopes = undefined;
    shown = undefined;
    askForKey("The service does not know this key, or it was revoked. Nothing more is asked with it.");
    return;
  }
  if (isForbidden(error)) {
    shown = undefined;
    note = "";
    setState("ready", [card(`${labelOf(address)} needs another key`, el("p", { role: "alert" }, error.message))]);
    return;
  }
  const waitMs = (error instanceof ApiError ? error.retryAfterMs : undefined) ?? 10_000;
  const why =
    error instanceof ApiError
      ? `The service says: ${error.message}`
      : error instanceof NotReached
        ? "The service was not reached."
        : `This page failed: ${error}`;
  note = `${note.replace(/ · .*/, "")} · ${why}`.replace(/^ · /, "");
  const noAnswer = card(
    "No answer",
    el("p", { role: "alert" }, `${why} It is asked again in ${Math.ceil(waitMs / 1000)} s.`),
  );
  setState("stale", shown === undefined ? [noAnswer] : undefined);
  askAt(Date.now() + Math.max(LEAST_PAUSE_MS, waitMs));
}

/** One timer, paused while the tab is hidden and caught up on return. */
function askAt(at: number): void {
  dueAt = at;
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(again, Math.max(0, at - Date.now()));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (dueAt !== undefined) askAt(dueAt);
});
addEventListener("popstate", () => {
  const before = address.view;
  address = readAddress(location.search);
  if (before !== address.view) shown = undefined;
  again();
});

/** What a key is, and the field for it. Nothing is asked of the service until there is one. */
function askForKey(why?: string): void {
  under?.abort();
  clearTimeout(timer);
  dueAt = undefined;
  note = "";
  const had = sessionStorage.getItem(KEY) !== null;
  const field = el("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", size: 46 });
  const form = el(
    "form",
    {
      onsubmit(event: Event) {
        event.preventDefault();
        const key = field.value.trim();
        if (key === "") return;
        sessionStorage.setItem(KEY, key);
        scopes = undefined;
        shown = undefined;
        again();
      },
    },
    el("label", { for: "key" }, "API key "),
    field,
    " ",
    el("button", { type: "submit" }, "Use it"),
    " ",
    had ? el("button", { type: "button", onclick: forget }, "Forget it") : undefined,
  );
  const command = "npm run key -- create --scopes metric:read,entity:read --name dashboard";
  setState(why === undefined ? "no-key" : "wrong-key", [
    card(
      why === undefined ? "A key, please" : "This key does not open anything",
      why === undefined ? undefined : el("p", { role: "alert" }, why),
      el("p", {}, "Requests carry an API key. The first start of the service made one; this command makes more:"),
      el("pre", { tabindex: 0 }, command),
      form,
      el("p", { class: "note" }, "It stays in this tab until the tab is closed, and is sent to this service alone."),
    ),
  ]);
  field.focus();
}

function forget(): void {
  sessionStorage.removeItem(KEY);
  scopes = undefined;
  shown = undefined;
  askForKey();
}

function locked(view: View): HTMLElement {
  return card(
    `${view.label} needs another key`,
    el("p", {}, `This key does not have the scope ${view.scopes.join(" or ")}.`),
    el("pre", { tabindex: 0 }, `npm run key -- create --scopes ${view.scopes[0]} --name dashboard`),
  );
}

/** As high as what comes, so that nothing jumps. */
function skeleton(): HTMLElement[] {
  return [el("div", { class: "skeleton low" }), el("div", { class: "skeleton" }), el("div", { class: "skeleton" })];
}

const keys = el(
  "dialog",
  { "aria-label": "Keys" },
  el("h2", {}, "Keys"),
  el(
    "p",
    {},
    "1 to 7: the views · r: ask again · ?: this list · ← and → in a chart: its values, one after the other · Esc: close",
  ),
  el("button", { type: "button", onclick: () => keys.close() }, "Close"),
);
document.body.append(keys);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.target as Element).closest?.("input, select, textarea")) return;
  if (event.key === "?") keys.showModal();
  else if (event.key === "r") again();
  else {
    const view = views[Number(event.key) - 1];
    if (view !== undefined) go({ view: view.name, series: [] });
  }
});

again();
