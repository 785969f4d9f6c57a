import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ranges } from "../address.js";
import type { View } from "../view.js";
import { views } from "../views.js";
import type { AppProps, Controller, State } from "./controller.js";
import { CustomRange } from "./custom-range.js";
import { Link } from "./link.js";
import { movedWindow, presets, presetWindow } from "./presets.js";

/** The bar: the views, the range, the time zone, the key. On a narrow screen some controls are behind a button. */
export function Header({ state, controller }: AppProps): VNode {
  const { view, zone } = state;
  const [isOpen, setOpen] = useState(false);
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current !== null && current) bar.current.scrollLeft = current.offsetLeft - bar.current.offsetLeft;
  }, [view]);
  return (
    <header>
      <div class="bar">
        <strong>entity-metrics</strong>
        <nav ref={bar} aria-label="Views">
          {views
            .filter(({ parent }) => parent === undefined)
            .map((one) => (
              <ViewLink key={one.name} view={one} state={state} controller={controller} />
            ))}
        </nav>
        <div class="tools">
          {view.hasRange && <RangeControls state={state} controller={controller} />}
          <div id="options" class={isOpen ? "options open" : "options"}>
            {view.hasRange && <CustomRange state={state} controller={controller} />}
            {view.canCompare && (
              <label>
                <input
                  type="checkbox"
                  checked={state.address.compare}
                  onChange={({ currentTarget }) => controller.go({ compare: currentTarget.checked })}
                />{" "}
                Compare
              </label>
            )}
            <label>
              <input
                type="checkbox"
                checked={zone === "local"}
                onChange={({ currentTarget }) => controller.setZone(currentTarget.checked ? "local" : "UTC")}
              />{" "}
              Local time
            </label>
          </div>
          <button
            type="button"
            class="more"
            aria-expanded={isOpen}
            aria-controls="options"
            onClick={() => setOpen(!isOpen)}
          >
            More
          </button>
          <button type="button" onClick={() => controller.openKeyPanel(!state.isKeyPanelOpen)}>
            Key
          </button>
        </div>
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
          <span aria-hidden="true"> 🔒</span>
          <span class="hidden"> needs {view.scopes.join(" or ")}</span>
        </>
      )}
    </Link>
  );
}

function RangeControls({ state, controller }: { readonly state: State; readonly controller: Controller }): VNode {
  const { address, zone } = state;
  const isCustom = address.from !== undefined;
  const choose = (value: string) => {
    const range = ranges.find((one) => one === value);
    const preset = presets.find((one) => one === value);
    if (range !== undefined) controller.go({ range, from: undefined, to: undefined });
    else if (preset !== undefined) controller.go(presetWindow(preset, Date.now(), zone));
  };
  const [earlier, later] = ([-1, 1] as const).map((direction) =>
    movedWindow({ address, zone, now: Date.now() }, direction),
  );
  return (
    <>
      <span>
        <span aria-hidden="true">Range </span>
        <select
          aria-label="Range"
          value={isCustom ? "custom" : address.range}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          {ranges.map((range) => (
            <option key={range} value={range}>
              {range}
            </option>
          ))}
          {presets.map((preset) => (
            <option key={preset} value={preset}>
              {preset}
            </option>
          ))}
          {isCustom && <option value="custom">custom</option>}
        </select>
      </span>
      <span>
        <button type="button" aria-label="Earlier" onClick={() => earlier && controller.go(earlier)}>
          ‹
        </button>
        <button
          type="button"
          aria-label="Later"
          disabled={later === undefined}
          onClick={() => later && controller.go(later)}
        >
          ›
        </button>
      </span>
    </>
  );
}
