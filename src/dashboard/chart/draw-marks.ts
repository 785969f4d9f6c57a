import type uPlot from "uplot";
import type { ChartMark } from "../marks.js";
import { cutTo } from "./cut-text.js";

/** Maximum width of the text of a mark, px. */
const TEXT = 140;
const GAP = 4;

/**
 * Draws a thin vertical line at each mark, and its text if it fits before the next line. The list below the chart has
 * all texts.
 */
export function drawMarks(plot: uPlot, marks: readonly ChartMark[], colour: string, font: string, ratio: number): void {
  const { ctx: context, bbox } = plot;
  const lefts = marks.map(({ at }) => Math.round(plot.valToPos(at / 1000, "x", true)));
  context.save();
  context.font = font.replace(/[\d.]+px/, (size) => `${Number.parseFloat(size) * ratio}px`);
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillStyle = colour;
  for (const [index, { text }] of marks.entries()) {
    const left = lefts[index] as number;
    context.fillRect(left, bbox.top, ratio, bbox.height);
    const end = lefts[index + 1] ?? bbox.left + bbox.width;
    const room = Math.min(TEXT * ratio, end - left - 2 * GAP * ratio);
    if (room > 3 * GAP * ratio) context.fillText(cutTo(text, room, context), left + GAP * ratio, bbox.top + ratio);
  }
  context.restore();
}
