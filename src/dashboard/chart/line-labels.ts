import type uPlot from "uplot";
import { cutTo } from "./cut-text.js";
import type { LineEnd } from "./lines.js";
import { type Paint, scaled } from "./paint.js";

const LINE_HEIGHT = 15;
const WIDTH = 120;
const GAP = 4;

/**
 * Writes the label of each line at its end, as the second sign besides its colour; labels move apart. They end at the
 * right edge of the drawing, on a rim of the colour of the card.
 */
export function drawLabels(plot: uPlot, ends: readonly LineEnd[], paint: Paint): void {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio;
  const line = LINE_HEIGHT * ratio;
  const placed = ends.map((end) => ({ ...end, y: plot.valToPos(end.value, "y", true) })).sort((a, b) => a.y - b.y);
  context.save();
  context.font = scaled(paint.font, ratio);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4 * ratio;
  context.strokeStyle = paint.colour("var(--card)");
  let free = bbox.top;
  placed.splice(Math.floor(bbox.height / line));
  for (const [index, { label, stroke, at, y }] of placed.entries()) {
    const left = (placed.length - index) * line;
    const top = Math.max(free, Math.min(y - line / 2, bbox.top + bbox.height - left + line / 2));
    const text = cutTo(label, WIDTH * ratio, context);
    const x = Math.max(bbox.left + WIDTH * ratio, plot.valToPos(at / 1000, "x", true) - GAP * ratio);
    context.strokeText(text, x, top);
    context.fillStyle = stroke;
    context.fillText(text, x, top);
    free = top + line;
  }
  context.restore();
}
