import type { ChartMark } from "../chart-mark.js";
import { LEFT, RIGHT } from "./gutters.js";

/** Height of a label, px. */
export const LABEL = 24;

/** Distance of two labelled lines: marks that are nearer share a label, px. */
const APART = 64;
const GAP = 4;
const MOST = 220;

/** Marks with one label. All in px from the left edge of the chart. */
export interface PlacedMark {
  readonly marks: readonly ChartMark[];
  /** The line of the first mark. */
  readonly line: number;
  readonly left: number;
  readonly width: number;
}

/** Where the marks of a chart are. */
export interface Place {
  /** The time axis, Unix ms. */
  readonly from: number;
  readonly to: number;
  /** Width of the chart. */
  readonly width: number;
}

/**
 * Places the labels of marks, oldest first; `widthOf` returns the width of a label that is not cut. A label covers the
 * line of its first mark, begins at it where there is room, and never overlaps another one.
 */
export function placeMarks(
  marks: readonly ChartMark[],
  { from, to, width }: Place,
  widthOf: (marks: readonly ChartMark[]) => number,
): PlacedMark[] {
  const lineOf = ({ at }: ChartMark) => LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT);
  const groups: { line: number; marks: ChartMark[] }[] = [];
  for (const mark of marks) {
    const last = groups.at(-1);
    if (last !== undefined && lineOf(mark) - last.line < APART) last.marks.push(mark);
    else groups.push({ line: lineOf(mark), marks: [mark] });
  }
  let end = width;
  return groups
    .map((group, index) => ({ ...group, least: index === 0 ? 0 : (groups[index - 1]?.line ?? 0) + APART / 2 }))
    .reverse()
    .map(({ line, marks: own, least }) => {
      const whole = Math.min(MOST, widthOf(own));
      const left = Math.min(line, Math.max(least, end - whole));
      const placed = { marks: own, line, left, width: Math.min(whole, end - left) };
      end = left - GAP;
      return placed;
    })
    .reverse();
}
