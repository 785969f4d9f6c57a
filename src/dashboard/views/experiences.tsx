import { newestOf } from "../fetch-series.js";
import { NameLink, valueIn } from "../list/columns.js";
import type { Entry } from "../list/entries.js";
import { listView } from "../list/list-view.js";
import { experienceSeries, rateOf, seriesOf } from "../list/wanted.js";
import { newestWindow } from "../time-window.js";
import { FirstExperience } from "./first-experience.js";

const reaches = [
  ["potentialreach", "Potential reach"],
  ["actualreach", "Actual reach"],
] as const;

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
    ...reaches.map(([type, head]) => ({
      head,
      isNumber: true,
      phone: "none" as const,
      cell: (row: Entry) => valueIn(newestOf(seriesOf(trends, experienceSeries(row, type))), "people"),
    })),
    { head: "Conversion", sort: "now", isNumber: true, phone: "first", cell: ({ now }) => valueIn(now, "rate") },
  ],
  trend: rateOf,
  others: (entry, page) =>
    reaches.map(([type]) => ({ ...experienceSeries(entry, type), window: newestWindow(page, "experience") })),
});
