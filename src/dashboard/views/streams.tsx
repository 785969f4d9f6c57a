import type { VNode } from "preact";
import type { ListPage, Stream } from "../../client/client.js";
import { Sparkline } from "../chart/sparkline.js";
import { age } from "../duration.js";
import { type Fetched, fetchSeries } from "../fetch-series.js";
import { changeOf, messagesOf } from "../figures.js";
import { count, fullTime } from "../format.js";
import { fetchList, List } from "../list/list.js";
import { messageSeries, seriesOf } from "../list/wanted.js";
import { FirstSteps } from "../page/first-steps.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Loaded, Page } from "../view.js";

interface Data {
  readonly list: ListPage<Stream>;
  readonly trends: Fetched;
}

/** The open hour grows with every message. */
const REFRESH_MS = 30_000;

/** All streams: a page of the list, then the trends of its rows. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { address, now } = page;
  const list = await fetchList("stream", page);
  const trends = await fetchSeries(
    list.data.map(({ stream }) => ({ ...messageSeries(stream), compare: false })),
    page,
  );
  return {
    data: { list, trends },
    isEmpty: list.meta.total === 0 && address.q === undefined,
    nextAt: now + REFRESH_MS,
  };
}

export function Show({ data: { list, trends }, page }: { readonly data: Data; readonly page: Page }): VNode {
  if (list.meta.total === 0 && page.address.q === undefined) return <FirstSteps title="Streams" />;
  return (
    <section class="card">
      <h1>Streams</h1>
      <List
        path="stream"
        caption="Streams"
        list={list}
        page={page}
        rowKey={({ stream }) => stream}
        columns={[
          {
            head: "Stream",
            sort: "name",
            cell: ({ stream }) => (
              <Link to={{ view: "stream", id: stream }} page={page}>
                {stream}
              </Link>
            ),
          },
          {
            head: "Last message",
            sort: "last_message_at",
            isNumber: true,
            cell: ({ last_message_at }) =>
              last_message_at === null ? (
                "–"
              ) : (
                <time dateTime={last_message_at} title={fullTime(Date.parse(last_message_at), page.zone)}>
                  {age(page.now - Date.parse(last_message_at))} ago
                </time>
              ),
          },
          { head: "This hour so far", isNumber: true, cell: ({ slot }) => count(slot.count) },
          { head: "Last 24 h", sort: "day", isNumber: true, cell: ({ day }) => <data value={day}>{count(day)}</data> },
          {
            head: `Messages, ${rangeOf(page.address)}`,
            sort: "now",
            isNumber: true,
            cell: (row) => <data value={messagesOf(row, page)}>{count(messagesOf(row, page))}</data>,
          },
          {
            head: `Change, ${rangeOf(page.address)}`,
            sort: "change",
            isNumber: true,
            cell: (row) => changeOf(row, "messages", page.zone),
          },
          { head: "Trend", cell: ({ stream }) => <Sparkline series={seriesOf(trends, messageSeries(stream))} /> },
        ]}
      />
    </section>
  );
}
