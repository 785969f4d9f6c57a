import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Address, ranges } from "../address.js";
import { rangeName, windowName } from "../range.js";
import { zoneName } from "../zone.js";
import type { AppProps } from "./controller.js";
import { CustomRange } from "./custom-range.js";
import { movedWindow, presets, presetWindow } from "./presets.js";

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
        <Option label="Compare" isOn={address.compare} onChange={(compare) => go({ compare })}>
          with the time before
        </Option>
      )}
      <Option
        label="Local time"
        isOn={zone === "local"}
        onChange={(isLocal) => controller.setZone(isLocal ? "local" : "UTC")}
      >
        {zoneName("local")}
      </Option>
    </div>
  );
}

interface OptionProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly children: string;
}

function Option({ label, isOn, onChange, children }: OptionProps): VNode {
  return (
    <p>
      <label>
        <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />{" "}
        {label}
      </label>{" "}
      <span class="note">{children}</span>
    </p>
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
  const [earlier, later] = ([-1, 1] as const).map((direction) => movedWindow({ address, zone, now }, direction));
  const lastMonth = presetWindow("last month", now, zone);
  return (
    <div class="controls">
      <select
        aria-label="Range"
        value={isCustom ? "custom" : address.range}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {ranges.map((range) => (
          <option key={range} value={range}>
            {rangeName({ address: { ...address, range, from: undefined }, zone })}
          </option>
        ))}
        {presets.map((preset) => (
          <option key={preset} value={preset}>
            {preset === "last month" ? windowName(lastMonth, zone) : preset}
          </option>
        ))}
        {isCustom && <option value="custom">{rangeName({ address, zone })}</option>}
      </select>
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
