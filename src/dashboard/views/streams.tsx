import { messagesOf } from "../figures.js";
import { listView } from "../list/list-view.js";
import { NewestData } from "../list/time.js";
import { valueIn } from "../list/value.js";
import { messageSeries } from "../list/wanted.js";
import { FirstSteps } from "../page/first-steps.js";
import { rangeWords } from "../range.js";

/** All streams. The open hour grows with every message. */
export const { load, Show } = listView({
  list: "stream",
  title: "Streams",
  head: "Stream",
  unit: "messages",
  usual: "-now",
  Empty: FirstSteps,
  columns: (page) => [
    {
      head: "Newest data",
      sort: "silence",
      isNumber: true,
      cell: (row) => <NewestData stream={row} page={page} />,
    },
    { head: "This hour so far", isNumber: true, phone: "none", cell: ({ slot }) => valueIn(slot.count, "messages") },
    { head: "Last 24 h", sort: "day", isNumber: true, phone: "none", cell: ({ day }) => valueIn(day, "messages") },
    {
      head: `Messages, ${rangeWords(page)}`,
      sort: "now",
      isNumber: true,
      phone: "first",
      cell: (row) => valueIn(messagesOf(row, page), "messages"),
    },
  ],
  trend: ({ id }) => messageSeries(id),
  refreshMs: 30_000,
});
