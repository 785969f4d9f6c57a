import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { clockTime } from "../format.js";
import type { View } from "../view.js";
import { views } from "../views.js";
import type { AppProps, Controller, State } from "./controller.js";
import { Dates } from "./dates.js";
import { Later } from "./later.js";
import { Link } from "./link.js";
import { Popover } from "./popover.js";

const keyPanel = async () => (await import("./key-panel.js")).KeyPanel;

interface HeaderProps extends AppProps {
  /** Opens the search for places. */
  readonly onSearch: () => void;
}

/** The bar: the views, the search, the dates, the key. Without a key it has nothing that could work. */
export function Header({ state, controller, onSearch }: HeaderProps): VNode {
  const { view, phase, shown, zone } = state;
  const hasKey = phase !== "no-key" && phase !== "wrong-key";
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current !== null && current) bar.current.scrollLeft = current.offsetLeft - bar.current.offsetLeft;
  }, [view, hasKey]);
  return (
    <header>
      <div class="bar">
        <strong>entity-metrics</strong>
        {hasKey && (
          <>
            <nav ref={bar} aria-label="Views">
              {views
                .filter(({ parent }) => parent === undefined)
                .map((one) => (
                  <ViewLink key={one.name} view={one} state={state} controller={controller} />
                ))}
            </nav>
            <div class="tools">
              <button type="button" title="⌘ K or Ctrl K" onClick={onSearch}>
                Search <kbd>⌘K</kbd>
              </button>
              {view.hasRange && (
                <p class={shown === undefined ? "note updated unknown" : "note updated"}>
                  <span>Updated </span>
                  {clockTime(shown?.page.now ?? Date.now(), zone)}
                </p>
              )}
              <Dates state={state} controller={controller} />
              <Popover label="Key">
                {(close) => (
                  <section class="card panel" aria-label="Key">
                    <Later script={keyPanel} props={{ keyInfo: state.key, zone, controller, close }} />
                  </section>
                )}
              </Popover>
            </div>
          </>
        )}
      </div>
    </header>
  );
}

interface ViewLinkProps {
  readonly view: View;
  readonly state: State;
  readonly controller: Controller;
}

/** A view without the scope stays in the bar, with a lock whose accessible name contains the scope. */
function ViewLink({ view, state, controller }: ViewLinkProps): VNode {
  const isCurrent = (state.view.parent ?? state.view.name) === view.name;
  const isOpen = controller.mayOpen(view);
  return (
    <Link to={{ view: view.name }} page={controller} isCurrent={isCurrent}>
      {view.label}
      {!isOpen && (
        <>
          <svg class="lock" viewBox="0 0 12 12" aria-hidden="true">
            <path d="M3.5 5.5v-2a2.5 2.5 0 0 1 5 0v2M2 5.5h8v5H2z" />
          </svg>
          <span class="hidden"> needs {view.scopes.join(" or ")}</span>
        </>
      )}
    </Link>
  );
}
