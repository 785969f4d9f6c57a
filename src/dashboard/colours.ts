import { seriesNamed } from "./address.js";

/** A colour as CSS, which follows the colour scheme. */
export type SeriesColour = string;

/** Lightness and chroma from 0 to 1, and hue in degrees, of the colour space OKLCH. */
type Oklch = readonly [lightness: number, chroma: number, hue: number];

/** Ten colours far from each other, on light and on dark cards. */
export const palette: readonly { readonly light: Oklch; readonly dark: Oklch }[] = [
  { light: [0.5, 0.19, 261], dark: [0.64, 0.15, 243] }, // blue
  { light: [0.66, 0.18, 43], dark: [0.83, 0.1, 61] }, // orange
  { light: [0.48, 0.11, 159], dark: [0.7, 0.11, 165] }, // green
  { light: [0.48, 0.19, 12], dark: [0.69, 0.17, 30] }, // red
  { light: [0.42, 0.19, 315], dark: [0.64, 0.17, 309] }, // purple
  { light: [0.64, 0.1, 218], dark: [0.87, 0.12, 195] }, // teal
  { light: [0.67, 0.18, 332], dark: [0.79, 0.16, 338] }, // pink
  { light: [0.36, 0.08, 59], dark: [0.58, 0.08, 68] }, // brown
  { light: [0.64, 0.13, 113], dark: [0.89, 0.16, 122] }, // olive
  { light: [0.32, 0.11, 257], dark: [0.8, 0.1, 263] }, // navy
];

/** A series as its colour depends on it. */
interface Coloured {
  readonly name: string;
  readonly isRest?: boolean;
}

/**
 * Returns the colours of the series of one chart. A name has a colour of its own in every chart; if a series earlier in
 * the order of the names has that colour, the free one that is farthest from all taken ones. The rest of all series is
 * grey; joined and left have one pair of colours, and their net the colour of text.
 */
export function coloursOf(series: readonly Coloured[]): ReadonlyMap<string, SeriesColour> {
  const taken = new Set<number>();
  const fixed = new Set<SeriesColour>();
  const colours = new Map<string, SeriesColour>();
  for (const one of series.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const own = fixedColour(one);
    if (own !== undefined && !fixed.has(own)) {
      fixed.add(own);
      colours.set(one.name, own);
      continue;
    }
    const index = freeColour(hash(one.name) % palette.length, taken);
    taken.add(index);
    colours.set(one.name, cssOf(index));
  }
  return colours;
}

function fixedColour({ name, isRest }: Coloured): SeriesColour | undefined {
  if (isRest) return "var(--rest)";
  const type = seriesNamed(name)?.dimension_type;
  if (type === "net") return "var(--text)";
  return type === "joined" || type === "left" ? `var(--${type})` : undefined;
}

/** The first choice, or the free colour with the largest distance to the nearest taken one; the first once all are. */
function freeColour(first: number, taken: ReadonlySet<number>): number {
  if (!taken.has(first) || taken.size === palette.length) return first;
  let [best, most] = [first, 0];
  for (let index = 0; index < palette.length; index += 1) {
    const least = Math.min(...[...taken].map((other) => distance(index, other)));
    if (least > most) [best, most] = [index, least];
  }
  return best;
}

/** Distance of two colours of the palette in OKLab, in the scheme where they are nearer; 0 for one and the same. */
export function distance(index: number, other: number): number {
  const [a, b] = [palette[index], palette[other]] as [(typeof palette)[number], (typeof palette)[number]];
  return Math.min(between(a.light, b.light), between(a.dark, b.dark));
}

function between(a: Oklch, b: Oklch): number {
  const [from, to] = [oklabOf(a), oklabOf(b)];
  return Math.hypot(...from.map((part, at) => part - (to[at] as number)));
}

export function oklabOf([lightness, chroma, hue]: Oklch): readonly [number, number, number] {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

function cssOf(index: number): SeriesColour {
  const { light, dark } = palette[index] as (typeof palette)[number];
  return `light-dark(oklch(${light.join(" ")}), oklch(${dark.join(" ")}))`;
}

/** FNV-1a over UTF-16 code units, 32 bits, followed by a mix so that names which differ in one letter spread. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}
