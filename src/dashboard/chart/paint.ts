/** Colours and font of a drawing, as the canvas takes them. */
export interface Paint {
  readonly font: string;
  colour(css: string): string;
}

/** Reads the colours of the style sheet, in the colour scheme of now. */
export function paintOf(place: HTMLElement): Paint {
  return {
    font: `12px ${getComputedStyle(place).fontFamily}`,
    colour(css) {
      place.style.color = css;
      const { color } = getComputedStyle(place);
      place.style.color = "";
      return color;
    },
  };
}

/** A font for a canvas with more pixels than CSS has. */
export const scaled = (font: string, ratio: number): string =>
  font.replace(/[\d.]+px/, (size) => `${Number.parseFloat(size) * ratio}px`);
