import type { ChartMark } from "../chart-mark.js";
import type { SeriesColour } from "../colours.js";
import type { Series } from "../fetch-series.js";
import { fullTime, type Zone } from "../format.js";
import { cutTo } from "./cut-text.js";
import { drawMarkLabels } from "./draw-marks.js";
import { labelsOf } from "./mark-text.js";
import { type Paint, scaled } from "./paint.js";
import type { Place } from "./place-marks.js";

interface Picture {
  readonly title: string;
  readonly series: readonly Series[];
  readonly marks: readonly ChartMark[];
  readonly place: Place;
  readonly colours: ReadonlyMap<string, SeriesColour>;
  readonly zone: Zone;
  readonly paint: Paint;
}

/** The drawing on the background of its card, below its title and window, and above its legend. */
export function pngOf(drawing: HTMLCanvasElement, picture: Picture): Promise<Blob | null> {
  const { title, series, marks, place, colours, zone, paint } = picture;
  const ratio = devicePixelRatio;
  const line = 20 * ratio;
  const canvas = document.createElement("canvas");
  canvas.width = drawing.width;
  canvas.height = drawing.height + line * (series.length + 3);
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const write = (text: string, x: number, y: number, colour: string) => {
    context.fillStyle = paint.colour(colour);
    context.fillText(cutTo(text, canvas.width - x - line, context), x, y);
  };
  context.fillStyle = paint.colour("var(--card)");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = scaled(paint.font, (ratio * 13) / 12);
  const { from, to } = (series[0] as Series).window;
  write(title, line, line, "var(--text)");
  write(`${fullTime(from, zone)} – ${fullTime(to, zone)}`, line, 2 * line, "var(--dim)");
  const top = 2.4 * line;
  context.drawImage(drawing, 0, top);
  drawMarkLabels(context, labelsOf(marks, place, zone), { paint, zone, ratio, top });
  for (const [index, { name, label }] of series.entries()) {
    const y = top + drawing.height + line * (index + 1);
    context.fillStyle = paint.colour(colours.get(name) as SeriesColour);
    context.fillRect(line, y - line / 2, line / 2, line / 2);
    write(label, 2 * line, y, "var(--text)");
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
