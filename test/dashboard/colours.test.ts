import { readFileSync } from "node:fs";
import { expect } from "chai";
import { coloursOf, distance, oklabOf, palette } from "../../src/dashboard/colours.js";

const named = (...names: string[]) => names.map((name) => ({ name }));
const streams = Array.from({ length: 10 }, (_, index) => `stream.stream-${index}.size`);
const all = palette.map((_, index) => index);

/** Luminance of a colour as WCAG defines it. */
function luminanceOf([r, g, b]: readonly number[]): number {
  return 0.2126 * (r as number) + 0.7152 * (g as number) + 0.0722 * (b as number);
}

/** Red, green and blue of an OKLCH colour, linear (https://bottosson.github.io/posts/oklab/). */
function linearOf(colour: (typeof palette)[number]["light"]): number[] {
  const [lightness, a, b] = oklabOf(colour);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function linearOfHex(hex: string): number[] {
  const long = hex.length === 4 ? [...hex].map((digit) => (digit === "#" ? digit : digit + digit)).join("") : hex;
  return [1, 3, 5].map((at) => {
    const part = Number.parseInt(long.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
}

function contrast(a: readonly number[], b: readonly number[]): number {
  const [high = 0, low = 0] = [luminanceOf(a), luminanceOf(b)].sort((one, other) => other - one);
  return (high + 0.05) / (low + 0.05);
}

describe("the colours of series", () => {
  it("are ten, and no two of them are near each other in either scheme", () => {
    expect(palette).to.have.length(10);
    const pairs = all.flatMap((one) => all.slice(one + 1).map((other) => distance(one, other)));
    expect(Math.min(...pairs)).to.be.above(0.14);
  });

  it("can be shown, and have a contrast of at least 3 to their card in both schemes", () => {
    const style = readFileSync("src/dashboard/dashboard.css", "utf8");
    const [light = "", dark = ""] = Array.from(style.matchAll(/--card: (#\w+);/g), ([, hex]) => hex as string);
    for (const [scheme, card] of [
      ["light", light],
      ["dark", dark],
    ] as const)
      for (const colour of palette) {
        const shown = linearOf(colour[scheme]);
        for (const part of shown) expect(part, colour[scheme].join(" ")).to.be.within(-0.002, 1.002);
        expect(contrast(shown, linearOfHex(card)), `${colour[scheme].join(" ")} on ${card}`).to.be.at.least(3);
      }
  });

  it("depend on the name alone while they are free, in whatever order the series come", () => {
    const alone = (name: string) => coloursOf(named(name)).get(name);
    const together = coloursOf(named(...streams));
    expect(coloursOf(named(...streams.toReversed()))).to.deep.equal(together);
    expect(together.get(streams[0] as string)).to.equal(alone("stream.stream-0.size"));
    const many = Array.from({ length: 100 }, (_, index) => `segment.segment-${index}.size`);
    expect(new Set(many.map(alone)).size).to.equal(10);
  });

  it("differ for ten series of a chart, and are the farthest free ones where two names have the same", () => {
    expect(new Set(coloursOf(named(...streams)).values()).size).to.equal(10);
    expect(coloursOf(named(...streams, "stream.one.size")).size).to.equal(11);
    const colours = all.map((index) => {
      const { light, dark } = palette[index] as (typeof palette)[number];
      return `light-dark(oklch(${light.join(" ")}), oklch(${dark.join(" ")}))`;
    });
    const ownOf = (name: string) => colours.indexOf(coloursOf(named(name)).get(name) ?? "");
    const [first = "", second = ""] = streams.flatMap((one, at) => {
      const other = streams.slice(at + 1).find((name) => ownOf(name) === ownOf(one));
      return other === undefined ? [] : [one, other];
    });
    const farthest = Math.max(...all.map((index) => distance(index, ownOf(first))));
    const given = colours.indexOf(coloursOf(named(first, second)).get(second) ?? "");
    expect(distance(given, ownOf(first))).to.equal(farthest);
  });

  it("are grey for the rest of all series, and one pair for people who joined and left", () => {
    const rest = { name: "stream.other", isRest: true };
    expect(coloursOf([...named("stream.web.size"), rest]).get("stream.other")).to.equal("var(--rest)");
    const moves = coloursOf(named("segment.a.joined", "segment.a.left", "segment.b.left"));
    expect([moves.get("segment.a.joined"), moves.get("segment.a.left")]).to.deep.equal([
      "var(--joined)",
      "var(--left)",
    ]);
    expect(moves.get("segment.b.left")).to.include("oklch");
  });
});
