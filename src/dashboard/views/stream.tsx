import type { Stream } from "../../client/client.js";
import { DAY } from "../duration.js";
import type { Fetched } from "../fetch-series.js";
import { dayAndWeekBefore, messagesOf } from "../figures.js";
import { change } from "../format.js";
import { findEntry } from "../list/entries.js";
import { NewestData } from "../list/time.js";
import { valueIn } from "../list/value.js";
import { messageSeries } from "../list/wanted.js";
import { rangeWords } from "../range.js";
import { hourlyWindow } from "../time-window.js";
import type { Page } from "../view.js";
import { HeatMap } from "./heat-map.js";
import { LiveTail } from "./live-tail.js";
import { seriesView } from "./series-view.js";
import { UnitChart } from "./unit-chart.js";

const HEAT_MAP_WEEKS = 4;

/** One stream: the open hour as it grows, its trend, when messages arrive. */
export const { load, Show } = seriesView({
  dimension: "stream",
  list: { name: "streams", label: "Streams" },
  unknown: "no stream with the name",
  find: (page, id) => findEntry("stream", id, page),
  wanted: (id) => [messageSeries(id)],
  more: async () => undefined,
  recentWindow: ({ now }) => hourlyWindow(now - HEAT_MAP_WEEKS * 7 * DAY, now),
  figure: ({ row, page }) =>
    row && { value: valueIn(messagesOf(row, page), "messages"), unit: `messages in ${rangeWords(page)}` },
  change: ({ row }) => row && { ...row, unit: "messages" },
  facts: ({ row, recent, page }) => (row === undefined ? [] : messageFacts(row, recent, page)),
  cards: ({ row, recent, fetched, page }) => (
    <>
      {row !== undefined && <LiveTail stream={row} page={page} />}
      <UnitChart unit="messages" fetched={fetched} page={page} />
      <HeatMap series={recent.series[0]} weeks={HEAT_MAP_WEEKS} zone={page.zone} />
    </>
  ),
});

function messageFacts(row: Stream, { series: [hours] }: Fetched, page: Page) {
  const week = dayAndWeekBefore(hours?.values ?? []);
  return [
    ["Last 24 h", valueIn(row.day, "messages")],
    ["Against a week before", change(week?.now, week?.before, "messages")],
    ["Newest data", <NewestData key="newest" stream={row} page={page} />],
  ] as const;
}
