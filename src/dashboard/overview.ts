import type { Readiness } from "../client/client.js";
import { nameOf } from "./address.js";
import { chart } from "./chart.js";
import { card, el, table } from "./dom.js";
import { type Drawn, fetchSeries, isForbidden } from "./fetch-series.js";
import { amount, change, msOf } from "./format.js";
import { drawnOf, firstSteps, largest, linkTo, rateOf, sizeOf, take, trend, volumeOf } from "./lists.js";
import type { Asked, Shown } from "./view.js";

const ROWS = 8;
const STREAMS = 6;

/** Is everything well, what moved? */
export async function load(asked: Asked): Promise<Shown> {
  const { client, address, now, signal } = asked;
  const [streams, segments, experiences, open, ready] = await Promise.all([
    listed(take(client.streams({ limit: 100 }, { signal }), 100)),
    listed(largest(asked)),
    listed(take(client.experiences({ limit: ROWS }, { signal }), ROWS)),
    openErasures(asked),
    client.ready({ signal }),
  ]);
  if (streams.items?.length === 0 && segments.items?.length === 0)
    return { content: [firstSteps()], empty: true, nextAt: now + 30_000 };
  const busiest = (streams.items ?? [])
    .sort((a, b) => b.day - a.day)
    .slice(0, STREAMS)
    .map(volumeOf);
  const shownSegments = (segments.items ?? []).slice(0, ROWS);
  const offered = experiences.items ?? [];
  const series = await fetchSeries(
    client,
    [...busiest, ...shownSegments.map(sizeOf), ...offered.map((one) => rateOf(one))],
    address,
    now,
    signal,
  );
  const volumes = series.drawn.filter(({ unit }) => unit === "messages");
  // A stream that only has points took no messages: what is saved counts then.
  const day = Math.max(
    (streams.items ?? []).reduce((sum, stream) => sum + stream.day, 0),
    lastDay(volumes, now),
  );
  const figures = el(
    "div",
    { class: "figures" },
    figure("Messages, last 24 h", amount(day, "messages"), before(volumes, now)),
    figure(
      "Segments",
      segments.items === undefined ? "🔒" : String(segments.items.length),
      segments.refusal ?? (shownSegments[0] === undefined ? "none yet" : `largest: ${shownSegments[0].name}`),
    ),
    open,
    figure(
      "Stores",
      ready.ready ? (ready.degraded ? "degraded" : "all up") : "away",
      storeWords(ready.stores),
      ready.ready && !ready.degraded,
    ),
  );
  const rows = shownSegments.map((segment) => {
    const name = nameOf(sizeOf(segment));
    const [, by, line] = trend(drawnOf(series, name));
    return [linkTo(asked, "segments", name, segment.name), amount(segment.size, "people"), by, line];
  });
  const offers = offered.map((one) => {
    const name = nameOf(rateOf(one));
    const [last, by, line] = trend(drawnOf(series, name));
    return [linkTo(asked, "experiences", name, one.name), last, by, line];
  });
  return {
    content: [
      figures,
      card("Messages by stream", streams.refusal ?? chart("Messages by stream", volumes, series.refused)),
      el(
        "div",
        { class: "halves" },
        card("Segments", segments.refusal ?? table("Segments", ["Segment", "Now", address.range, "Trend"], rows)),
        card(
          "Experiences",
          experiences.refusal ?? table("Experiences", ["Experience", "Conversion", address.range, "Trend"], offers),
        ),
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

/** What was listed, or what the service says where the key may not see it. */
interface Listed<T> {
  readonly items?: T[];
  readonly refusal?: string;
}

function listed<T>(items: Promise<T[]>): Promise<Listed<T>> {
  return items.then(
    (items) => ({ items }),
    (error) => {
      if (isForbidden(error)) return { refusal: error.message };
      throw error;
    },
  );
}

/** How many are open; in words where the key may not see it. */
async function openErasures({ client, scopes, signal }: Asked): Promise<HTMLElement> {
  const mayAsk = scopes.has("entity:delete") || scopes.has("admin");
  const { items, refusal = "needs entity:delete or admin" } = mayAsk
    ? await listed(take(client.deletions({ state: "open", limit: 1_000 }, { signal }), 1_000))
    : {};
  if (items === undefined) return figure("Open erasures", "🔒", refusal);
  const stuck = items.filter((one) => one.stuck).length;
  return figure("Open erasures", String(items.length), stuck === 0 ? "none stuck" : `${stuck} stuck ▲`, stuck === 0);
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
