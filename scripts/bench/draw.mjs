// Draws curves of cost against size, as SVG.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const WIDTH = 480;
const HEIGHT = 260;
const LEFT = 56;
const RIGHT = 24;
const TOP = 40;
const BOTTOM = 44;
const TICKS = 4;

/**
 * Writes one file for each curve `{ name, what, unit, points: [{ size, cost }] }` into the folder; returns the paths.
 */
export function draw(curves, folder) {
  mkdirSync(folder, { recursive: true });
  return curves.map((curve) => {
    const path = join(folder, `cost-by-${curve.name}.svg`);
    writeFileSync(path, svgOf(curve));
    return path;
  });
}

/** Returns the SVG of a curve. The axis of sizes is logarithmic; the axis of costs begins at 0. */
function svgOf({ name, what, unit, points }) {
  const sizes = points.map(({ size }) => Math.log(size));
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const top = niceTop(Math.max(...points.map(({ cost }) => cost)));
  const x = (size) => LEFT + ((Math.log(size) - least) / Math.max(most - least, 1e-9)) * (WIDTH - LEFT - RIGHT);
  const y = (cost) => HEIGHT - BOTTOM - (cost / top) * (HEIGHT - TOP - BOTTOM);
  const at = points.map(({ size, cost }) => [x(size).toFixed(1), y(cost).toFixed(1)]);
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => (top * i) / TICKS);
  const title = `${what}: ${unit} a request, by ${name}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="#333">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="20" font-size="14">${title}</text>`,
    ...ticks.flatMap((cost) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(cost).toFixed(1)}" y2="${y(cost).toFixed(1)}" stroke="#ddd"/>`,
      `<text x="${LEFT - 6}" y="${(y(cost) + 4).toFixed(1)}" text-anchor="end">${Number(cost.toPrecision(3))}</text>`,
    ]),
    `<polyline points="${at.map((pair) => pair.join(",")).join(" ")}" fill="none" stroke="#1f6feb" stroke-width="2"/>`,
    ...points.flatMap(({ size }, i) => [
      `<circle cx="${at[i][0]}" cy="${at[i][1]}" r="3.5" fill="#1f6feb"/>`,
      `<text x="${at[i][0]}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${size.toLocaleString("en")}</text>`,
    ]),
    "</svg>",
    "",
  ].join("\n");
}

/** Returns the smallest of 1, 2, 5 × 10ⁿ that is not below the figure. */
function niceTop(figure) {
  const power = 10 ** Math.floor(Math.log10(figure > 0 ? figure : 1));
  return [1, 2, 5, 10].map((part) => part * power).find((top) => top >= figure) ?? 10 * power;
}
