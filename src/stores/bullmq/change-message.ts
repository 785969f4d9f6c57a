import type { ChangePhase } from "../../metrics/changes.js";
import type { Dimension } from "../../metrics/dimensions/dimension.js";
import { dimensionNamed } from "../../metrics/dimensions/index.js";
import type { Series } from "../../metrics/series.js";
import type { SeriesWindow } from "../../metrics/series-store.js";

/** What a process tells the others. */
export interface ChangeMessage {
  readonly process: string;
  /** Of the announcement, counted from 1; in a heartbeat that of the last announcement before it. */
  readonly number: number;
  readonly content: Heartbeat | Announcement;
}

export interface Heartbeat {
  /** When it was sent, by the sender's own clock, ms. */
  readonly sentAt: number;
}

export interface Announcement {
  readonly phase: ChangePhase;
  /** "all" when there are too many to name. */
  readonly windows: readonly SeriesWindow[] | "all";
}

/** A write of more stretches, or whose message would be longer, names none of them. */
const MOST_WINDOWS = 5_000;
const LONGEST_CHARACTERS = 262_144;

/** A series and its windows: dimension, id, type, from, to, from, to … */
type Stretch = [string, string, string, ...number[]];

export function encode({ process, number, content }: ChangeMessage): string {
  if ("sentAt" in content) return JSON.stringify([process, number, content.sentAt]);
  const { phase, windows } = content;
  if (windows !== "all" && windows.length <= MOST_WINDOWS) {
    const text = JSON.stringify([process, number, phase, stretches(windows)]);
    if (text.length <= LONGEST_CHARACTERS) return text;
  }
  return JSON.stringify([process, number, phase, "all"]);
}

function stretches(windows: readonly SeriesWindow[]): Stretch[] {
  const written: Stretch[] = [];
  let last: { series: Series; stretch: Stretch } | undefined;
  for (const { series, from, to } of windows) {
    if (last?.series !== series) {
      last = { series, stretch: [series.dimension.name, series.id, series.type] };
      written.push(last.stretch);
    }
    last.stretch.push(from, to);
  }
  return written;
}

/** The message; undefined when it is none that this version understands. */
export function decode(text: string): ChangeMessage | undefined {
  try {
    const [process, number, kind, windows] = JSON.parse(text) as unknown[];
    if (typeof process !== "string" || typeof number !== "number") return undefined;
    if (typeof kind === "number") return { process, number, content: { sentAt: kind } };
    if (kind !== "begin" && kind !== "end") return undefined;
    if (windows === "all") return { process, number, content: { phase: kind, windows } };
    return { process, number, content: { phase: kind, windows: (windows as Stretch[]).flatMap(windowsOf) } };
  } catch {
    return undefined;
  }
}

function windowsOf([name, id, type, ...bounds]: Stretch): SeriesWindow[] {
  const series: Series = { dimension: dimension(name), id, type };
  const windows: SeriesWindow[] = [];
  for (let at = 0; at < bounds.length; at += 2) {
    windows.push({ series, from: bounds[at] as number, to: bounds[at + 1] as number });
  }
  return windows;
}

function dimension(name: string): Dimension {
  const known = dimensionNamed(name);
  if (known === undefined) throw new Error("A dimension of another version");
  return known;
}
