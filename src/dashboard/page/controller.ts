import { ApiError, type Client, type KeyInfo } from "../../client/client.js";
import { type Address, addressText, nextAddress, readAddress } from "../address.js";
import type { Zone } from "../format.js";
import { changedMarks, marksFor } from "../marks.js";
import type { Page, View, ViewScript } from "../view.js";
import { views } from "../views.js";
import { guardedClient, KEY } from "./guarded-client.js";
import { limited, loadScript, reasonOf } from "./load-limits.js";
import { keepPlace, type Place, returnTo, startAtTop } from "./place.js";
import { scheduler } from "./schedule.js";
import { troubleOf } from "./trouble.js";
import { forgetVisited, keepVisited } from "./visited.js";

type Phase = "no-key" | "wrong-key" | "loading" | "ready" | "empty" | "stale" | "forbidden";

/** A view with the data of its last load. */
export interface Shown {
  readonly view: View;
  readonly script: ViewScript<unknown>;
  readonly data: unknown;
  readonly page: Page;
  readonly title: string | undefined;
  readonly problems: readonly string[];
}

export interface State {
  readonly address: Address;
  readonly view: View;
  readonly zone: Zone;
  readonly phase: Phase;
  readonly isLoading: boolean;
  /** The key in use; undefined until the service has described it. */
  readonly key: KeyInfo | undefined;
  /** The last data of the view; undefined while there is none. */
  readonly shown: Shown | undefined;
  /** Reason of the phases wrong-key, stale and forbidden. */
  readonly reason: string | undefined;
  /** Next load by the timer, Unix ms. */
  readonly nextAt: number | undefined;
  /** Failure of the service or of a store; undefined while both work. */
  readonly trouble: string | undefined;
}

export interface Controller {
  go(change: Partial<Address>, options?: { readonly replace?: boolean }): void;
  /** Loads the view again. */
  reload(): void;
  /** The same, without parts that change seldom. */
  refresh(): void;
  link(change: Partial<Address>): string;
  useKey(key: string): void;
  forgetKey(): void;
  setZone(zone: Zone): void;
  mayOpen(view: View): boolean;
}

/** Props of the components of the page. */
export interface AppProps {
  readonly state: State;
  readonly controller: Controller;
}

const ZONE = "time-zone";
/** Pause between two loads of an empty service, so that its first data appears within 10 s. */
const EMPTY_PAUSE_MS = 5_000;
const FAILURE_PAUSE_MS = 10_000;
/** Age after which a check tries the key of a view that has no timer: it can show a profile. */
const KEY_MS = 60_000;
/** Pause between two checks of the service, which no view waits for. */
const CHECK_PAUSE_MS = 15_000;
/** Age after which a check reads the marks again: other people's marks appear within a minute. */
const MARKS_MS = 30_000;

/** Keeps the state of the page and calls `draw` after every change. Loads the view of the address at once. */
export function startController(draw: (state: State, controller: Controller) => void): Controller {
  let state: State = {
    address: readAddress(location.search),
    view: viewOf(readAddress(location.search)),
    zone: localStorage.getItem(ZONE) === "local" ? "local" : "UTC",
    phase: "loading",
    isLoading: false,
    key: undefined,
    shown: undefined,
    reason: undefined,
    nextAt: undefined,
    trouble: undefined,
  };
  /** Place to return to once the view is drawn. */
  let openedAt: Place | null | undefined;
  /** Time of the last response to the key, Unix ms; undefined until the service has described it. */
  let keyAt: number | undefined;
  /** Whether the first view that the key may see replaces one that it may not: no link or click named that one. */
  let mayLand = !new URLSearchParams(location.search).has("view");
  let current: AbortController | undefined;
  /** Time of the last read of marks that was not a refresh, Unix ms. */
  let marksAt = 0;
  const client = guardedClient({
    mayAsk: () => state.phase !== "wrong-key" && state.phase !== "no-key" && !endIfExpired(),
    onRefused: (reason) => end("wrong-key", reason),
  });
  const schedule = scheduler(() => void load({ isRefresh: state.phase === "ready" }));
  const checks = scheduler(() => void check());

  const controller: Controller = {
    go(change, { replace = false } = {}) {
      const address = nextAddress(state.address, change);
      const text = addressText(address);
      const place: Place = { cursors: address.cursors };
      if (replace || text === location.search) history.replaceState(place, "", text);
      else {
        keepPlace(state.address.cursors);
        history.pushState(place, "", text);
      }
      const isOther = address.view !== state.address.view || address.id !== state.address.id;
      open(address);
      if (isOther && !replace) startAtTop();
    },
    reload: () => void load(),
    refresh: () => void load({ isRefresh: state.phase === "ready" }),
    link: (change) => addressText(nextAddress(state.address, change)),
    useKey(key) {
      sessionStorage.setItem(KEY, key);
      set({ key: undefined, shown: undefined });
      keyAt = undefined;
      mayLand = true;
      void load();
    },
    forgetKey() {
      sessionStorage.removeItem(KEY);
      void load();
    },
    setZone(zone) {
      localStorage.setItem(ZONE, zone);
      const { shown } = state;
      set({ zone, phase: "loading", shown: shown && { ...shown, page: { ...shown.page, zone } } });
      // Days, weeks and months begin at other instants.
      void load();
    },
    mayOpen: ({ scopes }) =>
      state.key === undefined || scopes.some((scope) => state.key?.scopes.includes(scope as never)),
  };

  function set(change: Partial<State>): void {
    state = { ...state, ...change };
    draw(state, controller);
  }

  function open(address: Address): void {
    const view = viewOf(address);
    const isSame = view === state.view && address.id === state.address.id;
    // The figures of another range stay until the new ones are drawn.
    set({ address, view, phase: "loading", ...(isSame ? {} : { shown: undefined, reason: undefined }) });
    void load();
  }

  async function load({ isRefresh = false } = {}): Promise<void> {
    current?.abort();
    schedule.stop();
    const own = new AbortController();
    current = own;
    const key = sessionStorage.getItem(KEY);
    if (!key) return end("no-key", undefined);
    if (/[^ -~]/.test(key))
      return end("wrong-key", "It contains a character that no key has. No request was made with it.");
    const signal = limited(own.signal);
    set({ isLoading: true, ...(state.shown === undefined ? { phase: "loading" as const } : {}) });
    try {
      // The script is loaded at the same time as the key.
      state.view.script().catch(() => {});
      if (keyAt === undefined) {
        set({ key: await client.key({ signal }) });
        checks.at(Date.now() + CHECK_PAUSE_MS);
      }
      keyAt = Date.now();
      await loadView(client, signal, isRefresh);
    } catch (error) {
      if (!own.signal.aborted) fail(error);
    }
  }

  async function loadView(ready: Client, signal: AbortSignal, isRefresh: boolean): Promise<void> {
    const { address, view, zone } = state;
    if (!controller.mayOpen(view)) {
      const first = views.find((one) => one.parent === undefined && controller.mayOpen(one));
      if (mayLand && first !== undefined) return controller.go({ view: first.name }, { replace: true });
      const needed = view.scopes.join(" or ");
      return set({
        phase: "forbidden",
        isLoading: false,
        shown: undefined,
        reason: `This key lacks the scope ${needed}.`,
      });
    }
    mayLand = false;
    const now = Date.now();
    const key = state.key as KeyInfo;
    const scopes: ReadonlySet<string> = new Set(key.scopes);
    const { go, reload, link } = controller;
    const given = { client: ready, address, scopes, key, zone, now, isRefresh, signal };
    const page: Page = { ...given, marks: [], go, reload, link };
    const script = await loadScript(view, signal);
    const { data, title, isEmpty = false, nextAt, problems = [] } = await script.load(page);
    signal.throwIfAborted();
    const marks = await marksFor(page, view);
    if (!isRefresh) marksAt = now;
    const shown: Shown = {
      view,
      script,
      data,
      title,
      page: { ...page, marks: marks.found },
      problems: [...address.problems, ...problems, ...marks.problems],
    };
    const at = isEmpty ? now + EMPTY_PAUSE_MS : nextAt;
    set({ phase: isEmpty ? "empty" : "ready", isLoading: false, shown, reason: undefined, nextAt: at });
    if (at !== undefined) schedule.at(isEmpty ? at : schedule.spread(at, now));
    if (address.id !== undefined) keepVisited({ view: view.name, id: address.id, name: title ?? address.id });
    if (openedAt) returnTo(openedAt);
    openedAt = undefined;
  }

  /** Marks the figures as stale while the service or a store is down, and loads again once it is back. */
  async function check(): Promise<void> {
    if (state.key === undefined || endIfExpired()) return;
    if (state.nextAt === undefined && Date.now() - (keyAt ?? 0) >= KEY_MS) {
      keyAt = Date.now();
      await client.key().catch(() => {});
    }
    const trouble = await troubleOf(client);
    if (state.key === undefined) return;
    const wasKnown = state.trouble;
    set({ trouble });
    if (trouble === undefined && wasKnown !== undefined) void load();
    else if (trouble === undefined) await refreshMarks();
    checks.at(Date.now() + CHECK_PAUSE_MS);
  }

  async function refreshMarks(): Promise<void> {
    const { shown } = state;
    const now = Date.now();
    if (shown === undefined || current === undefined || now - marksAt < MARKS_MS) return;
    marksAt = now;
    const marks = await changedMarks({ ...shown.page, now, signal: limited(current.signal) }, shown.view);
    if (marks !== undefined && state.shown === shown) set({ shown: { ...shown, page: { ...shown.page, marks } } });
  }

  function fail(error: unknown): void {
    if (error instanceof ApiError && error.status === 403) {
      set({ phase: "forbidden", isLoading: false, shown: undefined, reason: error.message });
    } else if (error instanceof ApiError && error.status === 400 && state.address.cursors.length > 0) {
      // The order of a list that the history names has expired.
      open({ ...state.address, cursors: [] });
    } else retryLater(error);
  }

  function retryLater(error: unknown): void {
    const wait = Math.max(error instanceof ApiError ? (error.retryAfterMs ?? 0) : FAILURE_PAUSE_MS, EMPTY_PAUSE_MS);
    const nextAt = Date.now() + wait;
    set({ phase: "stale", isLoading: false, reason: reasonOf(error), nextAt });
    schedule.at(nextAt);
  }

  function endIfExpired(): boolean {
    const expiry = state.key?.expires_at;
    const hasExpired = expiry !== undefined && Date.parse(expiry) <= Date.now();
    if (hasExpired) end("wrong-key", "This key has expired. No more requests are made with it.");
    return hasExpired;
  }

  function end(phase: "no-key" | "wrong-key", reason: string | undefined): void {
    current?.abort();
    schedule.stop();
    checks.stop();
    keyAt = undefined;
    forgetVisited();
    set({ phase, reason, isLoading: false, key: undefined, shown: undefined, nextAt: undefined, trouble: undefined });
  }

  /** Exchanges the code of a sign-in link for a key. The code leaves the address before it is used. */
  async function signIn(code: string): Promise<void> {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      controller.useKey(await client.signIn(code));
    } catch (error) {
      const isUsed = error instanceof ApiError && error.status === 404;
      end("wrong-key", isUsed ? "The link was used before, has expired, or is of another machine." : reasonOf(error));
    }
  }

  addEventListener("popstate", () => {
    openedAt = history.state as Place | null;
    open({ ...readAddress(location.search), cursors: openedAt?.cursors ?? [] });
  });
  draw(state, controller);
  const code = /^#code=(\w+)$/.exec(location.hash)?.[1];
  void (code === undefined ? load() : signIn(code));
  return controller;
}

const viewOf = (address: Address) => views.find(({ name }) => name === address.view) as View;
