import type { VNode } from "preact";
import { isUnfinished, type Series } from "../fetch-series.js";

const WIDTH = 180;
const HEIGHT = 24;
const PAD = 2;

/**
 * A small line of the complete buckets, without axes. The x axis is the window, and the y axis reaches from 0 to the
 * largest value, so that noise looks like noise. An absent value interrupts the line.
 */
export function Sparkline({ series }: { readonly series: Series | undefined }): VNode {
  const values = (series?.values ?? []).map((value, at) =>
    series !== undefined && isUnfinished(series, at) ? null : value,
  );
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return <span class="note">–</span>;
  const [least, most] = [Math.min(0, ...known), Math.max(0, ...known)];
  const x = (at: number) => (PAD + (at / Math.max(1, values.length - 1)) * (WIDTH - 2 * PAD)).toFixed(1);
  const y = (value: number) => {
    const share = most === least ? 0 : (value - least) / (most - least);
    return (HEIGHT - PAD - share * (HEIGHT - 2 * PAD)).toFixed(1);
  };
  let line = "";
  let area = "";
  values.forEach((value, at) => {
    if (value === null) return;
    const [isFirst, isLast] = [values[at - 1] == null, values[at + 1] == null];
    const point = `${x(at)} ${y(value)}`;
    line += `${isFirst ? "M" : "L"}${point}${isFirst && isLast ? "h0" : ""}`;
    area += `${isFirst ? `M${x(at)} ${y(0)}` : ""}L${point}${isLast ? `V${y(0)}Z` : ""}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path class="area" d={area} />
      <path d={line} />
    </svg>
  );
}
