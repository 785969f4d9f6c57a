import type { VNode } from "preact";
import type { ListedExperience, ListPage } from "../../client/client.js";
import { Sparkline } from "../chart/sparkline.js";
import { type Fetched, fetchSeries, nextSaveOf, type WantedSeries } from "../fetch-series.js";
import { changeOf } from "../figures.js";
import { amount, type Unit } from "../format.js";
import { fetchList, List } from "../list/list.js";
import { rateOf, seriesOf } from "../list/wanted.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import { newestWindow } from "../time-window.js";
import type { Loaded, Page } from "../view.js";
import { FirstExperience } from "./first-experience.js";

interface Data {
  readonly list: ListPage<ListedExperience>;
  readonly trends: Fetched;
}

const REFRESH_MS = 60_000;

/** All experiences: a page of the list, then reach and trend of its rows. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { address, now } = page;
  const list = await fetchList("experience", page);
  const recent = newestWindow(page, "experience");
  const wanted = list.data.flatMap((row): WantedSeries[] => [
    { ...rateOf(row), compare: false },
    { ...rateOf(row, "potentialreach"), window: recent, compare: false },
    { ...rateOf(row, "actualreach"), window: recent, compare: false },
  ]);
  const trends = await fetchSeries(wanted, page);
  return {
    data: { list, trends },
    isEmpty: list.meta.total === 0 && address.q === undefined,
    nextAt: nextSaveOf(trends.series) ?? now + REFRESH_MS,
  };
}

export function Show({ data: { list, trends }, page }: { readonly data: Data; readonly page: Page }): VNode {
  if (list.meta.total === 0 && page.address.q === undefined) return <FirstExperience />;
  const newest = (row: ListedExperience, type: string) =>
    value(
      seriesOf(trends, rateOf(row, type))?.values.findLast((one) => one !== null),
      "people",
    );
  return (
    <section class="card">
      <h1>Experiences</h1>
      <List
        path="experience"
        caption="Experiences"
        list={list}
        page={page}
        rowKey={({ id }) => id}
        columns={[
          {
            head: "Experience",
            sort: "name",
            cell: ({ id, name }) => (
              <Link to={{ view: "experience", id }} page={page}>
                {name}
              </Link>
            ),
          },
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
          { head: "Potential reach", isNumber: true, cell: (row) => newest(row, "potentialreach") },
          { head: "Actual reach", isNumber: true, cell: (row) => newest(row, "actualreach") },
          { head: "Conversion", isNumber: true, cell: (row) => value(row.now, "rate") },
          {
            head: `Change, ${rangeOf(page.address)}`,
            sort: "change",
            isNumber: true,
            cell: (row) => changeOf(row, "rate", page.zone),
          },
          { head: "Trend", cell: (row) => <Sparkline series={seriesOf(trends, rateOf(row))} /> },
        ]}
      />
    </section>
  );
}

function value(one: number | null | undefined, unit: Unit): VNode | string {
  return one == null ? "–" : <data value={one}>{amount(one, unit)}</data>;
}
