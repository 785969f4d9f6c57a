import type { VNode } from "preact";
import type { ListedSegment, ListedSeries, ListPage } from "../../client/client.js";
import { Sparkline } from "../chart/sparkline.js";
import { type Fetched, fetchSeries, nextSaveOf } from "../fetch-series.js";
import { changeOf } from "../figures.js";
import { count } from "../format.js";
import { fetchList, List } from "../list/list.js";
import { Table } from "../list/table.js";
import { seriesOf, sizeOf } from "../list/wanted.js";
import { FirstSteps } from "../page/first-steps.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Loaded, Page } from "../view.js";
import { segmentsWithPoints } from "./segments-with-points.js";

interface Data {
  readonly list: ListPage<ListedSegment>;
  /** Segments that are not in the catalogue; undefined: not known. */
  readonly points: ListPage<ListedSeries> | undefined;
  readonly trends: Fetched;
}

const REFRESH_MS = 60_000;
/** Rows of the list of segments that only have points. */
const POINTS = 20;

/** A segment without a catalogue entry has no name. */
const rowOf = ({ dimension_id: id }: ListedSeries) => ({ id, name: id });

/** All segments: a page of the list, then the trends of its rows. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { address, now } = page;
  const [list, points] = await Promise.all([fetchList("segment", page), segmentsWithPoints(page, POINTS, address.q)]);
  const trends = await fetchSeries(
    [...list.data, ...(points?.data ?? []).map(rowOf)].map((row) => ({ ...sizeOf(row), compare: false })),
    page,
  );
  return {
    data: { list, points, trends },
    isEmpty: list.meta.total === 0 && !points?.meta.total && address.q === undefined,
    nextAt: nextSaveOf(trends.series) ?? now + REFRESH_MS,
  };
}

export function Show({ data: { list, points, trends }, page }: { readonly data: Data; readonly page: Page }): VNode {
  if (list.meta.total === 0 && !points?.meta.total && page.address.q === undefined)
    return <FirstSteps title="Segments" />;
  return (
    <section class="card">
      <h1>Segments</h1>
      <List
        path="segment"
        caption="Segments"
        list={list}
        page={page}
        rowKey={({ id }) => id}
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
      {points !== undefined && points.meta.total > 0 && (
        <>
          <h2>Only points</h2>
          <p class="note">
            {count(points.meta.total)} not in the catalogue
            {points.data.length < points.meta.total && `; the first ${count(points.data.length)} are shown`}
          </p>
          <Table
            caption="Segments that only have points"
            rows={points.data.map(rowOf)}
            rowKey={({ id }) => id}
            columns={[
              {
                head: "Segment",
                cell: ({ id }) => (
                  <Link to={{ view: "segment", id }} page={page}>
                    {id}
                  </Link>
                ),
              },
              { head: "Trend", cell: (row) => <Sparkline series={seriesOf(trends, sizeOf(row))} /> },
            ]}
          />
        </>
      )}
    </section>
  );
}
