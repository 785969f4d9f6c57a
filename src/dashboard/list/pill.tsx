import type { VNode } from "preact";
import { comparedIn, type Moved } from "../figures.js";
import { changeIn, change as changeText, dayOf, shortNumber, type Unit, type Zone } from "../format.js";

/** The values of a row or a head between which something changed. */
export interface ChangeOf extends Moved {
  readonly unit: Unit;
}

/**
 * The change that a reader compares: `▲ +15 %`; of a rate, and from 0, the absolute one: `▼ −0.6 pp`. A dash where
 * there is none. Pills of a column have one width, so that arrows and figures are aligned.
 */
export function Pill({ change }: { readonly change: ChangeOf }): VNode {
  const { text } = pillOf(change) ?? { text: "–" };
  const [direction, arrow, word] = directions[text[0] ?? ""] ?? ["same", "", ""];
  return (
    <span class={`pill ${direction}`} role="img" aria-label={text === "–" ? "no change known" : `${word}${text}`}>
      <span>{arrow}</span> {text}
    </span>
  );
}

const directions: Readonly<Record<string, readonly [style: string, arrow: string, word: string]>> = {
  "+": ["up", "▲", "up: "],
  "−": ["down", "▼", "down: "],
};

/** A change as a pill, next to its other measure, which is dim: `▲ +15 % +79`, `… since 3 Nov`. Full in the title. */
export function ChangePill({ change, zone }: { readonly change: ChangeOf; readonly zone: Zone }): VNode {
  const { unit, since } = change;
  const { now, before } = comparedIn(change);
  const day = since === undefined || before == null ? "" : `since ${dayOf(Date.parse(since), zone)}`;
  return (
    <span class="change" title={`${changeText(now, before, unit)} ${day}`.trim()}>
      <Pill change={change} />
      <span class="note">
        {pillOf(change)?.note} {day}
      </span>
    </span>
  );
}

/** Returns the measure of a change that its pill shows, and the other one. */
function pillOf({ unit, ...row }: ChangeOf) {
  const { now, before } = comparedIn(row);
  const found = changeIn(now, before, unit, shortNumber);
  if (found === undefined) return undefined;
  const { by, share } = found;
  const isAbsolute = unit === "rate" || share === undefined || before === 0;
  return isAbsolute ? { text: by, note: share } : { text: share, note: by };
}
