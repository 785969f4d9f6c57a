import type { Experience, SegmentSize, Stream } from "../client/client.js";
import { changeOf, sparkline } from "./chart.js";
import { el } from "./dom.js";
import { type Drawn, type Fetched, finished, type Wanted } from "./fetch-series.js";
import { amount } from "./format.js";
import type { Asked } from "./view.js";

/** Series of one page at most: what is longer is not looked through on a page. */
export const MOST = 50;

export async function take<T>(items: AsyncIterable<T>, most: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === most) break;
  }
  return taken;
}

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
  return el(
    "a",
    {
      href: `?${new URLSearchParams([
        ["view", view],
        ["series", name],
        ["range", address.range],
      ])}`,
      onclick(event: Event) {
        event.preventDefault();
        go(change);
      },
    },
    label,
  );
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

/** Three steps for a service that holds nothing yet. */
export function firstSteps(): HTMLElement {
  const send = `curl ${new URL(".", location.href).href}collect/json/web -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '{"_uid":"u-1","segments":["newsletter"]}'`;
  const nextHour = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000).toISOString().slice(11, 16);
  return el(
    "section",
    { class: "card" },
    el("h2", {}, "Nothing is here yet"),
    el(
      "ol",
      {},
      el("li", {}, "Send a message:", el("pre", { tabindex: 0 }, send)),
      el(
        "li",
        {},
        "See the segment: it is registered with the first message that names it, and its size is taken within seconds.",
      ),
      el("li", {}, `Streams appear at once; their whole hours are saved at ${nextHour} UTC.`),
    ),
  );
}
