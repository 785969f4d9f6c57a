import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { DAY } from "../duration.js";
import type { Zone } from "../format.js";
import { spanOf } from "../time-window.js";
import type { AppProps } from "./controller.js";
import { MINUTE, momentOf, momentText } from "./moment.js";

interface Draft {
  readonly from?: string;
  readonly to?: string;
}

/** Fields From and To, `2026-11-23 14:00`, each with a calendar. A change takes effect when both are a valid window. */
export function CustomRange({ state: { address, zone }, controller }: AppProps): VNode {
  const [draft, setDraft] = useState<Draft>({});
  const to = address.to ?? Math.floor(Date.now() / MINUTE) * MINUTE;
  const { from } = spanOf({ address, zone, now: to });
  const shown = { from: draft.from ?? momentText(from, zone), to: draft.to ?? momentText(to, zone) };
  const problem = problemOf(shown.from, shown.to, zone);
  const isEdited = (draft.from ?? draft.to) !== undefined;
  // Both are wrong if they are instants in the wrong order.
  const isInstant = (name: "from" | "to") => !Number.isNaN(momentOf(shown[name], zone));
  const isRight = (name: "from" | "to") =>
    problem === undefined || (isInstant(name) && !(isInstant("from") && isInstant("to")));
  const go = (texts: Required<Draft>) => {
    if (problemOf(texts.from, texts.to, zone) !== undefined) return setDraft(texts);
    setDraft({});
    controller.go({ from: momentOf(texts.from, zone), to: momentOf(texts.to, zone) });
  };
  const apply = () => {
    if (draft.from !== undefined || draft.to !== undefined) go(shown);
  };
  const field = (name: "from" | "to", label: string) => (
    <span class="moment">
      <label>
        {label}{" "}
        <input
          class="time"
          size={16}
          autocomplete="off"
          value={shown[name]}
          aria-invalid={(isEdited && !isRight(name)) || undefined}
          onInput={({ currentTarget }) => setDraft({ ...draft, [name]: currentTarget.value })}
          onChange={apply}
          onKeyDown={({ key }) => key === "Enter" && apply()}
        />
      </label>
      <DayPicker
        label={name === "from" ? "Pick the first day" : "Pick the last day"}
        value={shown[name].slice(0, 10)}
        onPick={(day) => go({ ...shown, [name]: name === "from" ? day : dayAfter(day) })}
      />
    </span>
  );
  return (
    <>
      {field("from", "From")}
      {field("to", "To")}
      {isEdited && problem !== undefined && <span role="alert">{problem}</span>}
    </>
  );
}

interface DayPickerProps {
  readonly label: string;
  readonly value: string;
  readonly onPick: (day: string) => void;
}

/** A button that opens the calendar of the browser. */
function DayPicker({ label, value, onPick }: DayPickerProps): VNode {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" aria-label={label} onClick={() => field.current?.showPicker()}>
        ▾
      </button>
      <input
        ref={field}
        class="calendar"
        type="date"
        tabIndex={-1}
        aria-hidden="true"
        value={value}
        onChange={({ currentTarget }) => currentTarget.value !== "" && onPick(currentTarget.value)}
      />
    </>
  );
}

/** Returns why two texts are not a window; undefined if they are one. */
function problemOf(from: string, to: string, zone: Zone): string | undefined {
  const [start, end] = [momentOf(from, zone), momentOf(to, zone)];
  if (Number.isNaN(start)) return "From needs a day, with or without a time: 2026-11-23 14:00.";
  if (Number.isNaN(end)) return "To needs a day, with or without a time: 2026-11-23 14:00.";
  return start < end ? undefined : "From must be before To.";
}

/** The day after `2026-11-23`, so that a window contains the picked day. */
function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00Z`) + DAY).toISOString().slice(0, 10);
}
