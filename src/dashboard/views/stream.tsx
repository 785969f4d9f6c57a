import type { VNode } from "preact";
import type { Stream } from "../../client/client.js";
import { Chart } from "../chart/chart.js";
import { DAY } from "../duration.js";
import { type Fetched, fetchWithRecent, nextSaveOf } from "../fetch-series.js";
import { changeOf, messagesOf } from "../figures.js";
import { change, count, fullTime } from "../format.js";
import { messageSeries } from "../list/wanted.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import { hourlyWindow } from "../time-window.js";
import type { Loaded, Page } from "../view.js";
import { ApiCall } from "./api-call.js";
import { HeatMap } from "./heat-map.js";
import { findStream, LiveTail } from "./live-tail.js";
import { sumOf } from "./messages-by-stream.js";

interface Data {
  /** Undefined when no message arrived by this name. */
  readonly stream: Stream | undefined;
  readonly fetched: Fetched;
  readonly weeks: Fetched;
}

const REFRESH_MS = 60_000;
const HEAT_MAP_DAYS = 28;

/** One stream: its trend, when messages arrive, and the open hour as it grows. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { address, now } = page;
  const id = address.id as string;
  const stream = await findStream(page, id);
  const window = hourlyWindow(now - HEAT_MAP_DAYS * DAY, now);
  const { recent: weeks, fetched } = await fetchWithRecent([messageSeries(id)], page, window);
  return {
    data: { stream, fetched, weeks },
    nextAt: nextSaveOf(fetched.series) ?? now + REFRESH_MS,
    problems: stream !== undefined ? [] : [`The service has no stream with the name “${id}”.`],
  };
}

export function Show({ data: { stream, fetched, weeks }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const id = page.address.id as string;
  const hours = weeks.series[0]?.values;
  const weekBefore = hours && sumOf(hours.slice(-(7 * 24 + 24), -7 * 24));
  return (
    <>
      <section class="card">
        <p class="note">
          <Link to={{ view: "streams" }} page={page}>
            Streams
          </Link>
        </p>
        <h1>{id}</h1>
        <dl class="facts">
          {stream !== undefined && (
            <>
              <Fact name="Last 24 h">
                <data value={stream.day}>{count(stream.day)}</data>
              </Fact>
              <Fact name="Against the same day a week before">{change(stream.day, weekBefore, "messages")}</Fact>
              <Fact name={`Messages, ${rangeOf(page.address)}`}>
                <data value={messagesOf(stream, page)}>{count(messagesOf(stream, page))}</data>
              </Fact>
              <Fact name={`Change, ${rangeOf(page.address)}`}>{changeOf(stream, "messages", page.zone)}</Fact>
            </>
          )}
          <Fact name="Last message">
            {stream?.last_message_at == null ? (
              "–"
            ) : (
              <time dateTime={stream.last_message_at}>{fullTime(Date.parse(stream.last_message_at), page.zone)}</time>
            )}
          </Fact>
        </dl>
      </section>
      {stream !== undefined && <LiveTail stream={stream} page={page} />}
      <Card title="Trend">
        <Chart series={fetched.series} refused={fetched.refused} page={page} />
      </Card>
      <HeatMap series={weeks.series[0]} zone={page.zone} days={HEAT_MAP_DAYS} />
      <ApiCall wanted={[messageSeries(id)]} page={page} />
    </>
  );
}
