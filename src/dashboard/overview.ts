import { ApiError, type Readiness } from "../client/client.js";
import { nameOf } from "./address.js";
import { chart } from "./chart.js";
import { card, el, table } from "./dom.js";
import { type Drawn, fetchSeries } from "./fetch-series.js";
import { amount, change, msOf } from "./format.js";
import { drawnOf, firstSteps, largest, linkTo, rateOf, sizeOf, take, trend, volumeOf } from "./lists.js";
import type { Asked, Shown } from "./view.js";

const ROWS = 8;
const STREAMS = 6;

/** Is everything well, what moved? */
export async function load(asked: Asked): Promise<Shown> {
  const { client, address, now, signal } = asked;
  const [streams, segments, experiences, open, ready] = await Promise.all([
    take(client.streams({ limit: 100 }, { signal }), 100),
    largest(asked),
    take(client.experiences({ limit: ROWS }, { signal }), ROWS),
    openErasures(asked),
    client.ready({ signal }),
  ]);
  if (streams.length === 0 && segments.length === 0)
    return { content: [firstSteps()], empty: true, nextAt: now + 30_000 };
  const busiest = streams
    .sort((a, b) => b.day - a.day)
    .slice(0, STREAMS)
    .map(volumeOf);
  const series = await fetchSeries(
    client,
    [...busiest, ...segments.slice(0, ROWS).map(sizeOf), ...experiences.map((one) => rateOf(one))],
    address,
    now,
    signal,
  );
  const volumes = series.drawn.filter(({ unit }) => unit === "messages");
  // A stream that only has points took no messages: what is saved counts then.
  const day = Math.max(
    streams.reduce((sum, stream) => sum + stream.day, 0),
    lastDay(volumes, now),
  );
  const figures = el(
    "div",
    { class: "figures" },
    figure("Messages, last 24 h", amount(day, "messages"), before(volumes, now)),
    figure(
      "Segments",
      String(segments.length),
      segments[0] === undefined ? "none yet" : `largest: ${segments[0].name}`,
    ),
    open,
    figure(
      "Stores",
      ready.ready ? (ready.degraded ? "degraded" : "all up") : "away",
      storeWords(ready.stores),
      ready.ready && !ready.degraded,
    ),
  );
  const rows = segments.slice(0, ROWS).map((segment) => {
    const name = nameOf(sizeOf(segment));
    const [, by, line] = trend(drawnOf(series, name));
    return [linkTo(asked, "segments", name, segment.name), amount(segment.size, "people"), by, line];
  });
  const offers = experiences.map((one) => {
    const name = nameOf(rateOf(one));
    const [last, by, line] = trend(drawnOf(series, name));
    return [linkTo(asked, "experiences", name, one.name), last, by, line];
  });
  return {
    content: [
      figures,
      card("Messages by stream", chart("Messages by stream", volumes, series.refused)),
      el(
        "div",
        { class: "halves" },
        card("Segments", table("Segments", ["Segment", "Now", address.range, "Trend"], rows)),
        card("Experiences", table("Experiences", ["Experience", "Conversion", address.range, "Trend"], offers)),
      ),
    ],
    nextAt: series.nextSaveAt ?? now + 60_000,
  };
}

function figure(label: string, value: string, note: string, good?: boolean): HTMLElement {
  const shade = good === undefined ? "" : good ? " good" : " bad";
  return el(
    "section",
    { class: "card figure" },
    el("h2", {}, label),
    el("p", { class: `value${shade}` }, value),
    el("p", { class: "note" }, note),
  );
}

/** How many are open; in words where the key may not see it. */
async function openErasures({ client, signal }: Asked): Promise<HTMLElement> {
  try {
    const open = await take(client.deletions({ state: "open", limit: 1_000 }, { signal }), 1_000);
    const stuck = open.filter((one) => one.stuck).length;
    return figure("Open erasures", String(open.length), stuck === 0 ? "none stuck" : `${stuck} stuck ▲`, stuck === 0);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return figure("Open erasures", "🔒", "needs entity:delete or admin");
  }
}

function storeWords(stores: Readiness["stores"]): string {
  return stores.map(({ name, state }) => `${name} ${state}`).join(" · ");
}

type Volumes = readonly Pick<Drawn, "points" | "earlier">[];

const DAY = msOf("1d");

/** What was saved in the 24 whole hours that end `ago` ms before the hour that is open. */
function lastDay(volumes: Volumes, now: number, ago = 0): number {
  const until = Math.floor(now / msOf("1h")) * msOf("1h") - ago;
  const points = volumes.flatMap((one) => (one.earlier ? [] : one.points));
  return points.reduce((sum, { ts, value }) => sum + (ts >= until - DAY && ts < until ? value : 0), 0);
}

function before(volumes: Volumes, now: number): string {
  const [newest, older] = [lastDay(volumes, now), lastDay(volumes, now, DAY)];
  return older === 0
    ? "saved when each hour ends"
    : `${change(newest / older, 1, "%").replace(" pp", " %")} against the day before`;
}
