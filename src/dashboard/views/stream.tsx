import type { Stream } from "../../client/client.js";
import { DAY } from "../duration.js";
import { changeOf, dayAndWeekBefore, messagesOf } from "../figures.js";
import { change } from "../format.js";
import { valueIn } from "../list/columns.js";
import { findEntry } from "../list/entries.js";
import { NewestData } from "../list/time.js";
import { messageSeries } from "../list/wanted.js";
import { rangeWords } from "../range.js";
import { hourlyWindow } from "../time-window.js";
import { HeatMap } from "./heat-map.js";
import { LiveTail } from "./live-tail.js";
import { seriesView, type Thing } from "./series-view.js";
import { UnitChart } from "./unit-chart.js";

const HEAT_MAP_DAYS = 28;

/** One stream: the open hour as it grows, its trend, when messages arrive. */
export const { load, Show } = seriesView({
  dimension: "stream",
  list: { name: "streams", label: "Streams" },
  unknown: "no stream with the name",
  find: (page, id) => findEntry("stream", id, page),
  wanted: (id) => [messageSeries(id)],
  more: async () => undefined,
  recentWindow: ({ now }) => hourlyWindow(now - HEAT_MAP_DAYS * DAY, now),
  facts: (stream) => [
    ...(stream.row === undefined ? [] : messageFacts(stream.row, stream)),
    ...(stream.row === undefined
      ? []
      : [["Newest data", <NewestData key="newest" stream={stream.row} page={stream.page} />] as const]),
  ],
  cards: ({ row, recent, fetched, page }) => (
    <>
      {row !== undefined && <LiveTail stream={row} page={page} />}
      <UnitChart title="Trend" unit="messages" fetched={fetched} page={page} />
      <HeatMap series={recent.series[0]} zone={page.zone} days={HEAT_MAP_DAYS} />
    </>
  ),
});

function messageFacts(row: Stream, { recent, page }: Pick<Thing<Stream, unknown>, "recent" | "page">) {
  const week = dayAndWeekBefore(recent.series[0]?.values ?? []);
  const range = rangeWords(page);
  return [
    ["Last 24 h", valueIn(row.day, "messages")],
    ["Against the same day a week before", change(week?.now, week?.before, "messages")],
    [`Messages, ${range}`, valueIn(messagesOf(row, page), "messages")],
    [`Change, ${range}`, changeOf(row, "messages", page.zone)],
  ] as const;
}
