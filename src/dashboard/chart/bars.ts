import type { Series as Line } from "uplot";
import type { TimeWindow } from "../time-window.js";
import { endOf } from "../time-window.js";

/** Share of a bucket that is free to the right of its bar. */
const FREE = 0.2;

/** Returns how the bars of a window are drawn. */
export type BarPaths = typeof barsOf;

/** Draws a bar from 0 for each bucket; an unfinished one is hollow and dashed. */
export function barsOf(window: TimeWindow, isOpen: (index: number) => boolean): NonNullable<Line["paths"]> {
  return (plot, index) => {
    const { ctx: context } = plot;
    const ratio = devicePixelRatio;
    const zero = Math.round(plot.valToPos(0, "y", true));
    const colour = (plot.series[index] as { stroke(): string }).stroke();
    const values = plot.data[index] as (number | null)[];
    context.save();
    context.fillStyle = colour;
    context.strokeStyle = colour;
    context.lineWidth = ratio;
    context.setLineDash([3 * ratio, 2 * ratio]);
    values.forEach((value, at) => {
      if (!value) return;
      const [from, to] = [window.buckets[at] as number, endOf(window, at)].map((ms) =>
        plot.valToPos(ms / 1000, "x", true),
      );
      const free = ((to as number) - (from as number)) * (FREE / 2);
      const left = Math.round((from as number) + free);
      const width = Math.max(ratio, Math.round((to as number) - free) - left);
      const top = plot.valToPos(value, "y", true);
      context.globalAlpha = isOpen(at) ? 0.2 : 1;
      context.fillRect(left, zero, width, top - zero);
      context.globalAlpha = 1;
      if (isOpen(at)) context.strokeRect(left, zero, width, top - zero);
    });
    context.restore();
    return null;
  };
}
