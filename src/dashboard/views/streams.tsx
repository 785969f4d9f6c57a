import type { VNode } from "preact";
import { age } from "../duration.js";
import { messagesOf } from "../figures.js";
import { fullTime } from "../format.js";
import { valueIn } from "../list/columns.js";
import { listView } from "../list/list-view.js";
import { messageSeries } from "../list/wanted.js";
import { FirstSteps } from "../page/first-steps.js";
import { rangeOf } from "../range.js";
import type { Page } from "../view.js";

/** All streams. The open hour grows with every message. */
export const { load, Show } = listView({
  list: "stream",
  title: "Streams",
  head: "Stream",
  unit: "messages",
  Empty: FirstSteps,
  columns: (page) => [
    {
      head: "Last message",
      sort: "last_message_at",
      isNumber: true,
      cell: ({ last_message_at }) => <Ago time={last_message_at} page={page} />,
    },
    { head: "This hour so far", isNumber: true, cell: ({ slot }) => valueIn(slot.count, "messages") },
    { head: "Last 24 h", sort: "day", isNumber: true, cell: ({ day }) => valueIn(day, "messages") },
    {
      head: `Messages, ${rangeOf(page.address)}`,
      sort: "now",
      isNumber: true,
      cell: (row) => valueIn(messagesOf(row, page), "messages"),
    },
  ],
  trend: ({ id }) => messageSeries(id),
  refreshMs: 30_000,
});

/** The age of an instant, `5 min ago`. */
function Ago({ time, page }: { readonly time: string | null; readonly page: Page }): VNode {
  if (time === null) return <>–</>;
  const at = Date.parse(time);
  return (
    <time dateTime={time} title={fullTime(at, page.zone)}>
      {age(page.now - at)} ago
    </time>
  );
}
