import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { lengthOf } from "../address.js";
import type { Zone } from "../format.js";
import type { AppProps } from "./controller.js";

const MINUTE = 60_000;

interface Draft {
  readonly from?: string;
  readonly to?: string;
}

/** Fields From and To, `2026-11-23 14:00`. A window takes effect once both are times and From is before To. */
export function CustomRange({ state: { address, zone }, controller }: AppProps): VNode {
  const [draft, setDraft] = useState<Draft>({});
  const to = address.to ?? Math.floor(Date.now() / MINUTE) * MINUTE;
  const from = address.from ?? to - lengthOf(address);
  const shown = { from: draft.from ?? textOf(from, zone), to: draft.to ?? textOf(to, zone) };
  const isWrong = !(msOf(shown.from, zone) < msOf(shown.to, zone));
  const apply = () => {
    if (isWrong || (draft.from === undefined && draft.to === undefined)) return;
    setDraft({});
    controller.go({ from: msOf(shown.from, zone), to: msOf(shown.to, zone) });
  };
  const field = (name: "from" | "to", label: string) => (
    <label>
      {label}{" "}
      <input
        class="time"
        size={16}
        autocomplete="off"
        value={shown[name]}
        aria-invalid={(isWrong && draft[name] !== undefined) || undefined}
        onInput={({ currentTarget }) => setDraft({ ...draft, [name]: currentTarget.value })}
        onChange={apply}
        onKeyDown={({ key }) => key === "Enter" && apply()}
      />
    </label>
  );
  return (
    <>
      {field("from", "From")}
      {field("to", "To")}
    </>
  );
}

/** `2026-11-23 14:00` */
function textOf(ms: number, zone: Zone): string {
  const offset = zone === "local" ? new Date(ms).getTimezoneOffset() * MINUTE : 0;
  return new Date(ms - offset).toISOString().slice(0, 16).replace("T", " ");
}

/** Reads a day, or a day and a time, in the zone of the page unless it ends in Z; NaN for any other text. */
function msOf(text: string, zone: Zone): number {
  const [, day, time = "00:00", utc] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z)?)?$/.exec(text.trim()) ?? [];
  if (day === undefined) return Number.NaN;
  return Date.parse(zone === "local" && utc === undefined ? `${day}T${time}` : `${day}T${time}Z`);
}
