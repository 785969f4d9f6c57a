import type { ChartMark } from "../chart-mark.js";
import { dayOf, fullTime, type Zone } from "../format.js";
import { type Place, type PlacedMark, placeMarks } from "./place-marks.js";

/** The label of marks at their line: `19 Nov · Release 2.0`, or `19 Nov · 3 marks`. */
export function labelOf(marks: readonly ChartMark[], zone: Zone): string {
  const [first] = marks as readonly [ChartMark];
  return `${dayOf(first.at, zone)} · ${marks.length === 1 ? first.text : `${marks.length} marks`}`;
}

/** All texts of marks with their times, a line each. */
export const wholeText = (marks: readonly ChartMark[], zone: Zone): string =>
  marks.map(({ at, text }) => `${fullTime(at, zone)}: ${text}`).join("\n");

/** Space to the left and right of the text of a label, px. */
export const PAD = 6;

/** Returns the labels of marks in the font of the page. */
export function labelsOf(marks: readonly ChartMark[], place: Place, zone: Zone): PlacedMark[] {
  const context = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return placeMarks(marks, place, (own) => Math.ceil(context.measureText(labelOf(own, zone)).width) + 2 * PAD + 1);
}
