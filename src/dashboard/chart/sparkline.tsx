import type { VNode } from "preact";
import { isUnfinished, type Series } from "../fetch-series.js";

const WIDTH = 110;
const HEIGHT = 24;
const PAD = 2;

/**
 * A small line of the complete buckets, without axes. The x axis is the window. The axis of a rate begins at 0, so that
 * noise looks like noise. An absent value interrupts the line.
 */
export function Sparkline({ series }: { readonly series: Series | undefined }): VNode {
  const values = (series?.values ?? []).map((value, at) =>
    series !== undefined && isUnfinished(series, at) ? null : value,
  );
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return <span class="note">–</span>;
  const least = series?.unit === "rate" ? 0 : Math.min(...known);
  const most = Math.max(...known);
  const x = (at: number) => (PAD + (at / Math.max(1, values.length - 1)) * (WIDTH - 2 * PAD)).toFixed(1);
  const y = (value: number) => {
    const share = most === least ? 0.5 : (value - least) / (most - least);
    return (HEIGHT - PAD - share * (HEIGHT - 2 * PAD)).toFixed(1);
  };
  let path = "";
  values.forEach((value, at) => {
    if (value === null) return;
    const start = values[at - 1] == null;
    const isAlone = start && values[at + 1] == null;
    path += `${start ? "M" : "L"}${x(at)} ${y(value)}${isAlone ? "h0" : ""}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
