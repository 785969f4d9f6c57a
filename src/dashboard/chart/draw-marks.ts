import type { Zone } from "../format.js";
import { cutTo } from "./cut-text.js";
import { labelOf, PAD } from "./mark-text.js";
import { type Paint, scaled } from "./paint.js";
import { LABEL, type PlacedMark } from "./place-marks.js";

/** Draws the labels of marks into an image; on the page they are elements. */
export function drawMarkLabels(
  context: CanvasRenderingContext2D,
  placed: readonly PlacedMark[],
  {
    paint,
    zone,
    ratio,
    top,
  }: { readonly paint: Paint; readonly zone: Zone; readonly ratio: number; readonly top: number },
): void {
  context.save();
  context.font = scaled(paint.font, ratio);
  context.textBaseline = "middle";
  for (const { marks, left, width } of placed) {
    context.fillStyle = paint.colour("var(--mark)");
    context.fillRect(left * ratio, top, width * ratio, LABEL * ratio);
    context.fillStyle = paint.colour("var(--text)");
    const text = cutTo(labelOf(marks, zone), (width - 2 * PAD) * ratio, context);
    context.fillText(text, (left + PAD) * ratio, top + (LABEL / 2) * ratio);
  }
  context.restore();
}
