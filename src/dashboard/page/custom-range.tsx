import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Address } from "../address.js";
import type { Zone } from "../format.js";
import { spanOf } from "../time-window.js";
import { Calendar } from "./calendar.js";
import { dayAfter, MINUTE, momentOf, momentText } from "./moment.js";

interface CustomRangeProps {
  readonly address: Address;
  readonly zone: Zone;
  readonly go: (change: Partial<Address>) => void;
}

interface Draft {
  readonly from?: string;
  readonly to?: string;
}

/** Fields From and To, `2026-11-23 14:00`, and a calendar. A change takes effect when both are a valid window. */
export function CustomRange({ address, zone, go }: CustomRangeProps): VNode {
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
  const apply = (texts: Required<Draft>) => {
    if (problemOf(texts.from, texts.to, zone) !== undefined) return setDraft(texts);
    setDraft({});
    go({ from: momentOf(texts.from, zone), to: momentOf(texts.to, zone) });
  };
  const onChange = () => isEdited && apply(shown);
  const field = (name: "from" | "to", label: string) => (
    <label>
      {label}{" "}
      <input
        class="time"
        size={16}
        autocomplete="off"
        value={shown[name]}
        aria-invalid={(isEdited && !isRight(name)) || undefined}
        onInput={({ currentTarget }) => setDraft({ ...draft, [name]: currentTarget.value })}
        onChange={onChange}
        onKeyDown={({ key }) => key === "Enter" && onChange()}
      />
    </label>
  );
  return (
    <>
      <div class="controls">
        {field("from", "From")}
        {field("to", "To")}
      </div>
      {isEdited && problem !== undefined && <p role="alert">{problem}</p>}
      <Calendar
        first={momentText(from, zone).slice(0, 10)}
        last={momentText(to - 1, zone).slice(0, 10)}
        onPick={(first, last) => apply({ from: first, to: dayAfter(last) })}
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
