import type { VNode } from "preact";
import type { ListedSegment, ListPage } from "../../client/client.js";
import { Sparkline } from "../chart/sparkline.js";
import { type Fetched, fetchSeries, nextSaveOf } from "../fetch-series.js";
import { changeOf } from "../figures.js";
import { count } from "../format.js";
import { List, listQuery } from "../list/list.js";
import { seriesOf, sizeOf } from "../list/wanted.js";
import { FirstSteps } from "../page/first-steps.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Loaded, Page } from "../view.js";

interface Data {
  readonly list: ListPage<ListedSegment>;
  readonly trends: Fetched;
}

const REFRESH_MS = 60_000;

/** All segments: a page of the list, then the trends of its rows. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, address, now, signal } = page;
  const list = await client.page("segment", listQuery("segment", page), { signal });
  const trends = await fetchSeries(
    list.data.map((row) => ({ ...sizeOf(row), compare: false })),
    page,
  );
  return {
    data: { list, trends },
    isEmpty: list.meta.total === 0 && address.q === undefined,
    nextAt: nextSaveOf(trends.series) ?? now + REFRESH_MS,
  };
}

export function Show({ data: { list, trends }, page }: { readonly data: Data; readonly page: Page }): VNode {
  if (list.meta.total === 0 && page.address.q === undefined) return <FirstSteps title="Segments" />;
  return (
    <section class="card">
      <h1>Segments</h1>
      <List
        path="segment"
        caption="Segments"
        list={list}
        page={page}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "Segment",
            sort: "name",
            cell: ({ id, name }) => (
              <Link to={{ view: "segment", id }} page={page}>
                {name}
              </Link>
            ),
          },
          {
            head: "Members now",
            sort: "size",
            isNumber: true,
            cell: ({ size }) => <data value={size}>{count(size)}</data>,
          },
          {
            head: `Change, ${rangeOf(page.address)}`,
            sort: "change",
            isNumber: true,
            cell: (row) => changeOf(row, "members", page.zone),
          },
          { head: "Trend", cell: (row) => <Sparkline series={seriesOf(trends, sizeOf(row))} /> },
        ]}
      />
    </section>
  );
}
