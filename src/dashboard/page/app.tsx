import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { clockTime } from "../format.js";
import type { Page } from "../view.js";
import { zoneName } from "../zone.js";
import type { AppProps, State } from "./controller.js";
import { Header } from "./header.js";
import { Later, type Script } from "./later.js";
import { useShortcuts } from "./shortcuts.js";

/** The whole page: header, notices, the view, footer. */
export function App({ state, controller }: AppProps): VNode {
  const { address, view, isLoading } = state;
  const shortcuts = useShortcuts(controller);
  const NoView = useNoView(state);
  useEffect(() => {
    document.title = `${state.shown?.title ?? address.id ?? view.label} · entity-metrics`;
  }, [address.id, view, state.shown?.title]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header state={state} controller={controller} onSearch={() => shortcuts.show("go-to")} />
      <main
        id="main"
        tabIndex={-1}
        data-view={view.name}
        data-state={isWithoutView(state) && NoView === undefined ? "loading" : stateOf(state)}
        aria-busy={isLoading || undefined}
      >
        <Notices state={state} />
        {isWithoutView(state) ? NoView && <NoView state={state} controller={controller} /> : <Content state={state} />}
      </main>
      <footer>
        <a href="docs">API</a>
        <a href="./">Start</a>
        <button type="button" class="plain" onClick={() => shortcuts.show("keys")}>
          Keyboard
        </button>
      </footer>
      {shortcuts.dialog !== undefined && state.shown !== undefined && (
        <Later
          script={dialogs[shortcuts.dialog]}
          props={{ page: state.shown.page, close: () => shortcuts.show(undefined) }}
        />
      )}
    </>
  );
}

interface DialogProps {
  readonly page: Page;
  readonly close: () => void;
}

const dialogs: Readonly<Record<"keys" | "go-to", Script<DialogProps>>> = {
  keys: async () => (await import("./shortcut-list.js")).ShortcutList,
  "go-to": async () => (await import("../search/go-to.js")).GoTo,
};

/** Figures are stale while the service or a store is down, even if no request of the view has failed yet. */
const stateOf = ({ phase, trouble }: State) => (phase === "ready" && trouble !== undefined ? "stale" : phase);

/** Loading, figures that are not current, both without moving anything else, and the problems of the link. */
function Notices({ state }: { readonly state: State }): VNode {
  const { phase, reason, trouble, shown, nextAt, zone } = state;
  const isStale = stateOf(state) === "stale";
  const time = (ms: number) => `${clockTime(ms, zone)} ${zoneName(zone)}`;
  return (
    <div class="notices">
      {phase === "loading" && <div class="progress-line" />}
      <div role="status">
        {isStale && shown !== undefined && (
          <p class="notice bad">
            {phase === "stale" ? reason : trouble} Figures as of {time(shown.page.now)}
            {phase === "stale" && nextAt !== undefined && `; next try at ${time(nextAt)}`}.
          </p>
        )}
        {shown?.problems.map((problem) => (
          <p key={problem}>{problem}</p>
        ))}
      </div>
    </div>
  );
}

/** Whether the key, or the lack of one, does not allow a view. */
const isWithoutView = ({ phase }: State) => phase === "no-key" || phase === "wrong-key" || phase === "forbidden";

/** Returns the component that replaces a view, once its script is loaded. */
function useNoView(state: State): ComponentType<AppProps> | undefined {
  const [NoView, setNoView] = useState<ComponentType<AppProps>>();
  const isWanted = isWithoutView(state);
  useEffect(() => {
    if (isWanted) void import("./no-view.js").then((script) => setNoView(() => script.NoView));
  }, [isWanted]);
  return NoView;
}

function Content({ state }: Pick<AppProps, "state">): VNode {
  const { phase, shown, view, reason, trouble } = state;
  if (shown !== undefined) {
    const { Show } = shown.script;
    return <Show data={shown.data} page={shown.page} />;
  }
  if (phase !== "stale") return <Skeleton label={view.label} />;
  return (
    <section class="card failed">
      <h1>No response</h1>
      <p role="alert">{trouble ?? reason}</p>
      <p class="note">The page tries again by itself.</p>
    </section>
  );
}

/** A placeholder with the height of the content that replaces it. */
function Skeleton({ label }: { readonly label: string }): VNode {
  return (
    <>
      <h1 class="hidden">{label}</h1>
      <div class="skeleton low" />
      <div class="skeleton" />
      <div class="skeleton" />
    </>
  );
}
