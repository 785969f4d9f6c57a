import { ApiError, type Client, createClient, NotReached } from "../client/client.js";
import { type Address, addressText, ranges, readAddress } from "./address.js";
import { forgetCharts } from "./chart.js";
import { card, el, link, replaceContent } from "./dom.js";
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
const LONGEST_ANSWER_MS = 30_000;
/** After how long the page looks again whether a field is still in use. */
const PUT_OFF_MS = 1_000;
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
/** When what is shown was asked for, in words. */
let asOf = "";
let note = "";

type State = "no-key" | "wrong-key" | "loading" | "ready" | "empty" | "stale";

function setState(state: State, content?: readonly Node[]): void {
  main.dataset.view = address.view;
  main.dataset.state = state;
  document.title = `${labelOf(address)} · entity-metrics`;
  if (state === "loading") main.setAttribute("aria-busy", "true");
  else main.removeAttribute("aria-busy");
  if (content !== undefined) {
    replaceContent(main, [el("h1", { class: "hidden" }, labelOf(address)), ...content]);
    forgetCharts();
  }
  drawBar();
}

const labelOf = ({ view }: Address) => views.find(({ name }) => name === view)?.label ?? "";
const mayOpen = (view: View) => scopes === undefined || view.scopes.some((scope) => scopes?.has(scope));

function drawBar(): void {
  const linkOf = (view: View) => {
    const change = { view: view.name, ...(view.name === "explore" ? {} : { series: [] }) };
    return link(
      addressText({ ...address, ...change }),
      () => go(change),
      { "data-is": view.name, "aria-current": address.view === view.name && "page" },
      view.label,
      mayOpen(view) ? undefined : el("span", { class: "lock", title: `needs ${view.scopes.join(" or ")}` }, " 🔒"),
    );
  };
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
    el("a", { class: "skip", href: "#main", "data-is": "skip" }, "Skip to the content"),
    el("strong", {}, "entity-metrics"),
    el("nav", { "aria-label": "Views" }, ...views.map(linkOf)),
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
      el("button", { type: "button", "data-is": "key", onclick: () => void askForKey() }, "Key"),
    ),
  );
  if (focused) bar.querySelector<HTMLElement>(`[data-is="${focused}"]`)?.focus();
}

function go(change: Partial<Address>): void {
  const other = change.view !== undefined && change.view !== address.view;
  address = { ...address, ...change };
  history.pushState(null, "", addressText(address));
  if (other) forgetShown();
  again();
}

function forgetShown(): void {
  shown = undefined;
  asOf = "";
  note = "";
}

/** Asks for what the address says, now. */
function again(): void {
  void show();
}

/** The same by the timer: it waits until no field is in use, and draws nothing over one that is used by then. */
function refresh(): void {
  if (isInUse()) putOff();
  else void show(true);
}

/** Whether a field has the focus whose text or open list a refresh would take away; Explore's picker is free while it is empty and its list closed. */
const isInUse = () =>
  document.activeElement?.matches(
    "main :is(select, textarea, input:not([type=checkbox], [role=combobox][aria-expanded=false]:placeholder-shown))",
  ) ?? false;
const putOff = () => askAt(Date.now() + PUT_OFF_MS);

async function show(byTimer = false): Promise<void> {
  under?.abort();
  clearTimeout(timer);
  dueAt = undefined;
  const own = new AbortController();
  under = own;
  const signal = AbortSignal.any([own.signal, AbortSignal.timeout(LONGEST_ANSWER_MS)]);
  const key = sessionStorage.getItem(KEY);
  if (!key) return askForKey();
  if (/[^ -~]/.test(key)) return askForKey("It holds a character that no key has. Nothing is asked with it.");
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
      forgetShown();
      const { lockedCard } = await scriptOf(import("./key-cards.js"), signal);
      return setState("ready", [lockedCard(view.label, view.scopes)]);
    }
    const now = Date.now();
    const asked = { client, address, scopes, now, signal, go, again };
    const { load } = await scriptOf(view.script(), signal);
    const next = await load(asked);
    signal.throwIfAborted();
    if (byTimer && isInUse()) {
      main.removeAttribute("aria-busy");
      return putOff();
    }
    shown = next;
    asOf = `as of ${clockTime(now)} ${zone()}`;
    note = `${asOf}${next.nextAt === undefined ? "" : ` · next ${clockTime(next.nextAt)}`}`;
    setState(next.empty ? "empty" : "ready", next.content);
    if (next.nextAt !== undefined)
      askAt(Math.max(next.nextAt, now + LEAST_PAUSE_MS - 2_000) + 2_000 + Math.random() * 3_000);
  } catch (error) {
    if (own.signal.aborted) return;
    fail(error);
  }
}

class NoScript extends Error {}

/** Rejects with `NoScript` when the script is not loaded, and with the reason of the signal. */
function scriptOf<S>(script: Promise<S>, signal: AbortSignal): Promise<S> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    script.then(resolve, (cause) => reject(new NoScript("A script of this page was not loaded", { cause })));
  });
}

function fail(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) {
    scopes = undefined;
    void askForKey("The service does not know this key, or it was revoked. Nothing more is asked with it.");
    return;
  }
  if (isForbidden(error)) {
    forgetShown();
    setState("ready", [card(`${labelOf(address)} needs another key`, el("p", { role: "alert" }, error.message))]);
    return;
  }
  const waitMs = (error instanceof ApiError ? error.retryAfterMs : undefined) ?? 10_000;
  const why = wordsOf(error);
  note = asOf === "" ? why : `${asOf} · ${why}`;
  const noAnswer = card(
    "No answer",
    el("p", { role: "alert" }, `${why} It is asked again in ${Math.ceil(waitMs / 1000)} s.`),
    // A browser may remember that a script was not loaded, and ask for it again only with the page.
    error instanceof NoScript ? el("p", {}, el("a", { href: addressText(address) }, "Reload the page")) : undefined,
  );
  setState("stale", shown === undefined ? [noAnswer] : undefined);
  askAt(Date.now() + Math.max(LEAST_PAUSE_MS, waitMs));
}

function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return `The service says: ${error.message}`;
  if (error instanceof NotReached) return "The service was not reached.";
  if (error instanceof NoScript) return `${error.message}.`;
  if (error instanceof DOMException && error.name === "TimeoutError")
    return `The service did not answer within ${LONGEST_ANSWER_MS / 1000} s.`;
  return `This page failed: ${error}`;
}

/** One timer, paused while the tab is hidden and caught up on return. */
function askAt(at: number): void {
  dueAt = at;
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(refresh, Math.max(0, at - Date.now()));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (dueAt !== undefined) askAt(dueAt);
});
addEventListener("popstate", () => {
  const before = address.view;
  address = readAddress(location.search);
  if (before !== address.view) forgetShown();
  again();
});

/** Asks for a key. Nothing is asked of the service until there is one. */
async function askForKey(why?: string): Promise<void> {
  under?.abort();
  clearTimeout(timer);
  dueAt = undefined;
  const own = new AbortController();
  under = own;
  forgetShown();
  const cards = await scriptOf(import("./key-cards.js"), own.signal).catch(
    (error) => own.signal.aborted || fail(error),
  );
  if (typeof cards !== "object") return;
  const use = (key: string) => {
    sessionStorage.setItem(KEY, key);
    scopes = undefined;
    again();
  };
  const isHeld = sessionStorage.getItem(KEY) !== null;
  setState(why === undefined ? "no-key" : "wrong-key", [
    cards.keyCard({ why, use, forget: isHeld ? forget : undefined }),
  ]);
  main.querySelector("input")?.focus();
}

function forget(): void {
  sessionStorage.removeItem(KEY);
  scopes = undefined;
  void askForKey();
}

/** As high as what comes, so that nothing jumps. */
function skeleton(): HTMLElement[] {
  return [el("div", { class: "skeleton low" }), el("div", { class: "skeleton" }), el("div", { class: "skeleton" })];
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.target as Element).closest?.("input, select, textarea")) return;
  if (event.key === "?") void import("./shortcuts.js").then(({ showShortcuts }) => showShortcuts());
  else if (event.key === "r") again();
  else {
    const view = views[Number(event.key) - 1];
    if (view !== undefined) go({ view: view.name, series: [] });
  }
});

again();
