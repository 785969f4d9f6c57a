import type { VNode } from "preact";
import { rangeName } from "../range.js";
import { zoneName } from "../zone.js";
import type { AppProps } from "./controller.js";
import { Later } from "./later.js";
import { Popover } from "./popover.js";

const panel = async () => (await import("./dates-panel.js")).DatesPanel;

/** The button with the range of the page, or with the time zone where a view has no range, and its panel. */
export function Dates({ state, controller }: AppProps): VNode {
  const { address, zone, view } = state;
  return (
    <Popover
      class="dates"
      label={
        <>
          <span class="hidden">Dates: </span>
          {view.hasRange ? rangeName({ address, zone }) : zoneName(zone)} <span aria-hidden="true">▾</span>
        </>
      }
    >
      {() => (
        <section class="card panel" aria-label="Dates">
          <Later script={panel} props={{ state, controller }} />
        </section>
      )}
    </Popover>
  );
}
