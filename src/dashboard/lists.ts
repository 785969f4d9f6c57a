import type { Experience, SegmentSize, Stream } from "../client/client.js";
import { addressText, nameOf } from "./address.js";
import { changeOf, sparkline } from "./chart.js";
import { link, table } from "./dom.js";
import { type Drawn, type Fetched, finished, take, type Wanted } from "./fetch-series.js";
import { amount } from "./format.js";
import type { Asked } from "./view.js";

/** Series of one page at most: what is longer is not looked through on a page. */
export const MOST = 50;

/** The largest segments first. */
export async function largest({ client, signal }: Asked): Promise<SegmentSize[]> {
  const all = await take(client.segmentSizes({ limit: 1_000 }, { signal }), 1_000);
  return all.sort((a, b) => b.size - a.size).slice(0, MOST);
}

export const sizeOf = ({ id, name }: SegmentSize): Wanted => ({
  dimension: "segment",
  dimension_id: id,
  dimension_type: "size",
  label: name,
});

export const volumeOf = ({ stream }: Pick<Stream, "stream">): Wanted => ({
  dimension: "stream",
  dimension_id: stream,
  dimension_type: "size",
  label: stream,
  aggregation: "sum",
});

export const rateOf = ({ id, name }: Experience, dimension_type = "conversionrate"): Wanted => ({
  dimension: "experience",
  dimension_id: id,
  dimension_type,
  label: name,
});

export function drawnOf({ drawn }: Fetched, name: string): Drawn | undefined {
  return drawn.find((series) => series.name === name && !series.earlier);
}

/** A link to a view with a series of it. */
export function linkTo(
  { go, address }: Asked,
  view: "segments" | "experiences" | "streams",
  name: string,
  label: string,
) {
  const change = { view, series: [name] } as const;
  return link(addressText({ ...address, ...change }), () => go(change), {}, label);
}

/** Segments, each with its size now, its change and its trend. */
export function segmentTable(asked: Asked, segments: readonly SegmentSize[], series: Fetched): HTMLElement {
  const rows = segments.map((segment) => {
    const name = nameOf(sizeOf(segment));
    const [, by, line] = trend(drawnOf(series, name));
    return [linkTo(asked, "segments", name, segment.name), amount(segment.size, "people"), by, line];
  });
  return table("Segments", ["Segment", "Now", asked.address.range, "Trend"], rows);
}

/** What stands beside a name in a table: the newest complete value, its change, its trend. */
export function trend(series: Drawn | undefined): [string, string, Node | string] {
  const last = series === undefined ? undefined : finished(series).at(-1);
  return [
    last === undefined || series === undefined ? "–" : amount(last.value, series.unit),
    changeOf(series),
    sparkline(series),
  ];
}
