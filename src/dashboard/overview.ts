import type { Readiness } from "../client/client.js";
import { nameOf } from "./address.js";
import { chart } from "./chart.js";
import { card, el, table } from "./dom.js";
import { type Fetched, fetchGroups, isForbidden, take } from "./fetch-series.js";
import { firstSteps } from "./first-steps.js";
import { against, amount } from "./format.js";
import { dayAndDayBefore, lastDays } from "./last-days.js";
import { drawnOf, largest, linkTo, rateOf, segmentTable, sizeOf, trend, volumeOf } from "./lists.js";
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
  const wanted = [...busiest, ...shownSegments.map(sizeOf), ...offered.map((one) => rateOf(one))];
  const groups = [
    { wanted, address },
    { wanted: busiest, address: lastDays(address) },
  ];
  const [series, hours] = (await fetchGroups(client, groups, now, signal)) as [Fetched, Fetched];
  const volumes = series.drawn.filter(({ unit }) => unit === "messages");
  // A stream that only has points took no messages: what is saved counts then.
  const days = dayAndDayBefore(hours.drawn, now);
  const counted = (streams.items ?? []).reduce((sum, stream) => sum + stream.day, 0);
  const day = Math.max(counted, days?.[0] ?? 0);
  const figures = el(
    "div",
    { class: "figures" },
    figure("Messages, last 24 h", amount(day, "messages"), againstDayBefore(days)),
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
  const offers = offered.map((one) => {
    const name = nameOf(rateOf(one));
    return [linkTo(asked, "experiences", name, one.name), ...trend(drawnOf(series, name))];
  });
  return {
    content: [
      figures,
      card("Messages by stream", streams.refusal ?? chart("Messages by stream", volumes, series.refused)),
      el(
        "div",
        { class: "halves" },
        card("Segments", segments.refusal ?? segmentTable(asked, shownSegments, series)),
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

/** How the last day compares with the day before it. */
function againstDayBefore(days: readonly [number, number] | undefined): string {
  const [newest, older] = days ?? [0, 0];
  return older === 0 ? "saved when each hour ends" : `${against(newest, older)} against the day before`;
}
