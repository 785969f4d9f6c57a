import type { VNode } from "preact";
import { comparedIn, type Moved } from "../figures.js";
import { changeIn, change as changeText, dayOf, shortNumber, type Unit, type Zone } from "../format.js";

/** The values of a row or a head between which something changed. */
export interface ChangeOf extends Moved {
  readonly unit: Unit;
}

interface ChangeProps {
  readonly change: ChangeOf;
  readonly zone: Zone;
}

/**
 * The change that a reader compares: `▲ +15 %`; of a rate, and from 0, the absolute one: `▼ −0.6 pp`. A dash where
 * there is none. Pills of a column have one width, so that arrows and figures are aligned. The title has both measures.
 */
export function Pill({ change, zone }: ChangeProps): VNode {
  const text = measuresOf(change)?.pill;
  if (text === undefined) return <span class="pill none">–</span>;
  const [direction, arrow, word] = directions[text[0] ?? ""] ?? ["same", "", ""];
  return (
    <span class={`pill ${direction}`} role="img" aria-label={word + text} title={titleOf(change, zone)}>
      <span>{arrow}</span> {text}
    </span>
  );
}

const directions: Readonly<Record<string, readonly [style: string, arrow: string, word: string]>> = {
  "+": ["up", "▲", "up: "],
  "−": ["down", "▼", "down: "],
};

/** The other measure of a change: `+79`, of a rate `−2.5 %`; `since 3 Nov +79` if data begin later. */
export function Difference({ change, zone }: ChangeProps): VNode {
  return (
    <span title={titleOf(change, zone)}>
      <span class="note">{sinceOf(change, zone)}</span> {measuresOf(change)?.other}
    </span>
  );
}

/** A change as a pill, next to its other measure: `▲ +15 % +79`, `… +79 since 3 Nov`. */
export function ChangePill({ change, zone }: ChangeProps): VNode {
  return (
    <span class="change">
      <Pill change={change} zone={zone} />
      <span class="note">
        {measuresOf(change)?.other} {sinceOf(change, zone)}
      </span>
    </span>
  );
}

/** Returns the measure of a change that its pill shows, and the other one. */
function measuresOf({ unit, ...row }: ChangeOf) {
  const { now, before } = comparedIn(row);
  const found = changeIn(now, before, unit, shortNumber);
  if (found === undefined) return undefined;
  const { by, share } = found;
  const isAbsolute = unit === "rate" || share === undefined || before === 0;
  return isAbsolute ? { pill: by, other: share } : { pill: share, other: by };
}

const sinceOf = ({ since, before }: ChangeOf, zone: Zone) =>
  since === undefined || before == null ? "" : `since ${dayOf(Date.parse(since), zone)}`;

function titleOf(change: ChangeOf, zone: Zone): string {
  const { now, before } = comparedIn(change);
  return `${changeText(now, before, change.unit)} ${sinceOf(change, zone)}`.trim();
}
