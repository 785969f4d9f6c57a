/** Hues are 15° apart; with two lightnesses, 48 colours. */
const HUES = 24;

/** Place of a series in the colour space: hue in degrees, and whether the darker or the lighter variant is used. */
export interface SeriesColour {
  readonly hue: number;
  readonly shade: "strong" | "soft";
}

/**
 * Returns the colour of a series. It depends only on the name, so it is the same in every view and after every refresh.
 */
export function colourOf(name: string): SeriesColour {
  const value = hash(name);
  return { hue: (value % HUES) * (360 / HUES), shade: (value >>> 16) % 2 === 0 ? "strong" : "soft" };
}

/**
 * Returns the colours of the series of one chart, no two of them alike while there are at most 48: a series whose own
 * colour is taken by one earlier in the order of the names gets the next free one.
 */
export function coloursOf(names: readonly string[]): ReadonlyMap<string, SeriesColour> {
  const taken = new Set<string>();
  const keyOf = ({ hue, shade }: SeriesColour) => `${hue} ${shade}`;
  const isFull = () => taken.size >= 2 * HUES;
  return new Map(
    [...names].sort().map((name) => {
      let colour = colourOf(name);
      while (taken.has(keyOf(colour)) && !isFull()) colour = nextTo(colour);
      taken.add(keyOf(colour));
      return [name, colour];
    }),
  );
}

/** The colour a third of the circle further, then one hue further; after all hues the other shade. */
function nextTo({ hue, shade }: SeriesColour): SeriesColour {
  if (hue + 120 < 360) return { hue: hue + 120, shade };
  const next = (hue % 120) + 360 / HUES;
  if (next < 120) return { hue: next, shade };
  return { hue: 0, shade: shade === "strong" ? "soft" : "strong" };
}

/** FNV-1a over UTF-16 code units, 32 bits, followed by a mix so that names which differ in one letter spread. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

/** The colour as CSS text. The style sheet sets lightness and chroma for both colour schemes. */
export function colourText({ hue, shade }: SeriesColour, style: { getPropertyValue(name: string): string }): string {
  const read = (name: string) => style.getPropertyValue(name).trim();
  return `oklch(${read(`--series-${shade}`)} ${read("--series-chroma")} ${hue})`;
}
