import { newestOf } from "../fetch-series.js";
import { valueIn } from "../list/columns.js";
import type { Entry } from "../list/entries.js";
import { listView } from "../list/list-view.js";
import { experienceSeries, rateOf, seriesOf } from "../list/wanted.js";
import { Link } from "../page/link.js";
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
  Empty: FirstExperience,
  columns: (page, trends) => [
    {
      head: "Group",
      cell: ({ group }) =>
        group === null ? (
          "–"
        ) : (
          <Link to={{ view: "group", id: group }} page={page}>
            {group}
          </Link>
        ),
    },
    ...reaches.map(([type, head]) => ({
      head,
      isNumber: true,
      cell: (row: Entry) => valueIn(newestOf(seriesOf(trends, experienceSeries(row, type))), "people"),
    })),
    { head: "Conversion", isNumber: true, cell: ({ now }) => valueIn(now, "rate") },
  ],
  trend: rateOf,
  others: (entry, page) =>
    reaches.map(([type]) => ({ ...experienceSeries(entry, type), window: newestWindow(page, "experience") })),
});
