import type uPlot from "uplot";
import { cutTo } from "./cut-text.js";
import type { LineEnd } from "./lines.js";
import { type Paint, scaled } from "./paint.js";

const LINE_HEIGHT = 15;
const WIDTH = 120;
const GAP = 4;

/**
 * Writes the label of each line above its end, as the second sign besides its colour; labels move apart. They end at
 * the right edge of the drawing, on a rim of the colour of the card. Lines without enough space for that have none:
 * their labels would cover them.
 */
export function drawLabels(plot: uPlot, ends: readonly LineEnd[], paint: Paint): void {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio;
  const line = LINE_HEIGHT * ratio;
  const above = (end: LineEnd) => plot.valToPos(end.value, "y", true) - (2 / 3) * line;
  const placed = ends.map((end) => ({ ...end, wanted: above(end), y: above(end) })).sort((a, b) => b.y - a.y);
  let free = bbox.top + bbox.height - line / 2;
  for (const label of placed) {
    label.y = Math.min(label.y, free);
    free = label.y - line;
  }
  if (placed.some(({ y, wanted }) => wanted - y > line)) return;
  context.save();
  context.font = scaled(paint.font, ratio);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4 * ratio;
  context.strokeStyle = paint.colour("var(--card)");
  for (const { label, stroke, at, y } of placed) {
    const text = cutTo(label, WIDTH * ratio, context);
    const x = Math.max(bbox.left + WIDTH * ratio, plot.valToPos(at / 1000, "x", true) - GAP * ratio);
    context.strokeText(text, x, y);
    context.fillStyle = stroke;
    context.fillText(text, x, y);
  }
  context.restore();
}
