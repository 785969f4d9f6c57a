import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Address, ranges } from "../address.js";
import { rangeName, windowName } from "../range.js";
import { zoneName } from "../zone.js";
import { Choice } from "./choice.js";
import type { AppProps } from "./controller.js";
import { CustomRange } from "./custom-range.js";
import { movedWindow, presets, presetWindow } from "./presets.js";
import { Toggle } from "./toggle.js";

/** Range, days, comparison and time zone of the page. All changes until it is closed are one entry of the history. */
export function DatesPanel({ state, controller }: AppProps): VNode {
  const { address, view, zone } = state;
  const place = useRef<HTMLDivElement>(null);
  const hasChanged = useRef(false);
  useEffect(() => place.current?.querySelector<HTMLElement>("select, input")?.focus(), []);
  const go = (change: Partial<Address>) => {
    controller.go(change, { replace: hasChanged.current });
    hasChanged.current = true;
  };
  return (
    <div ref={place} class="options">
      {view.hasRange && (
        <>
          <RangeControls address={address} zone={zone} go={go} />
          <CustomRange address={address} zone={zone} go={go} />
        </>
      )}
      {view.canCompare && (
        <p>
          <Toggle label="Compare" isOn={address.compare} onChange={(compare) => go({ compare })} />{" "}
          <span class="note">with the time before</span>
        </p>
      )}
      <p>
        <Toggle
          label="Local time"
          isOn={zone === "local"}
          onChange={(isLocal) => controller.setZone(isLocal ? "local" : "UTC")}
        />{" "}
        <span class="note">{zoneName("local")}</span>
      </p>
    </div>
  );
}

interface RangeProps {
  readonly address: Address;
  readonly zone: AppProps["state"]["zone"];
  readonly go: (change: Partial<Address>) => void;
}

/** Ranges that end now, days and the month of the calendar, and steps to the window before and after. */
function RangeControls({ address, zone, go }: RangeProps): VNode {
  const now = Date.now();
  const isCustom = address.from !== undefined;
  const choose = (value: string) => {
    const range = ranges.find((one) => one === value);
    const preset = presets.find((one) => one === value);
    if (range !== undefined) go({ range, from: undefined, to: undefined });
    else if (preset !== undefined) go(presetWindow(preset, now, zone));
  };
  const words = (value: string) => {
    if (value === "custom") return rangeName({ address, zone });
    const range = ranges.find((one) => one === value);
    if (range !== undefined) return rangeName({ address: { ...address, range, from: undefined }, zone });
    return value === "last month" ? windowName(presetWindow(value, now, zone), zone) : value;
  };
  const [earlier, later] = ([-1, 1] as const).map((direction) => movedWindow({ address, zone, now }, direction));
  return (
    <div class="controls">
      <Choice
        isBare
        label="Range"
        value={isCustom ? "custom" : address.range}
        options={[...ranges, ...presets, ...(isCustom ? ["custom"] : [])]}
        words={words}
        onChoose={choose}
      />
      <button type="button" class="icon" aria-label="Earlier" onClick={() => earlier && go(earlier)}>
        ‹
      </button>
      <button
        type="button"
        class="icon"
        aria-label="Later"
        disabled={later === undefined}
        onClick={() => later && go(later)}
      >
        ›
      </button>
    </div>
  );
}
