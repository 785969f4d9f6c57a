import type { Fetched } from "../fetch-series.js";
import { NameLink } from "../list/columns.js";
import type { Entry } from "../list/entries.js";
import { listView } from "../list/list-view.js";
import { valueIn } from "../list/value.js";
import { experienceSeries, rateOf, seriesOf } from "../list/wanted.js";
import { newestWindow } from "../time-window.js";
import { FirstExperience } from "./first-experience.js";
import { newestReach } from "./newest-reach.js";

const reaches = [
  ["potential", "Potential reach"],
  ["actual", "Actual reach"],
] as const;

/** The series of the reach of an experience. */
const reachOf = (entry: Entry) => reaches.map(([name]) => experienceSeries(entry, `${name}reach`));

/** All experiences. */
export const { load, Show } = listView({
  list: "experience",
  title: "Experiences",
  head: "Experience",
  unit: "rate",
  usual: "-now",
  Empty: FirstExperience,
  columns: (page, trends) => [
    {
      head: "Group",
      phone: "none",
      cell: ({ group }) =>
        group === null ? "–" : <NameLink name={group} to={{ view: "group", id: group }} page={page} />,
    },
    ...reaches.map(([name, head]) => ({
      head,
      isNumber: true,
      phone: "none" as const,
      cell: (row: Entry) => valueIn(reachIn(trends, row)?.[name], "people"),
    })),
    { head: "Conversion rate", sort: "now", isNumber: true, phone: "first", cell: ({ now }) => valueIn(now, "rate") },
  ],
  trend: rateOf,
  others: (entry, page) => reachOf(entry).map((series) => ({ ...series, window: newestWindow(page, "experience") })),
});

function reachIn(trends: Fetched, row: Entry) {
  return newestReach({ series: reachOf(row).flatMap((wanted) => seriesOf(trends, wanted) ?? []), refused: [] });
}
