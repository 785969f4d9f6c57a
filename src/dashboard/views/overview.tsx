import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Alert, ListedExperience, ListedSegment, ListPage } from "../../client/client.js";
import { Chart } from "../chart/chart.js";
import { type Fetched, fetchSeries, nextSaveOf, type WantedSeries } from "../fetch-series.js";
import { countedWindow, hasMoved, type Moved } from "../figures.js";
import { kept } from "../kept.js";
import { changeColumns, nameColumn, trendColumn } from "../list/columns.js";
import { type Entry, entryPage } from "../list/entries.js";
import { type Column, Table } from "../list/table.js";
import { valueIn } from "../list/value.js";
import { messageSeries, rateOf, sizeOf } from "../list/wanted.js";
import { type Optional, optional } from "../optional.js";
import { Card } from "../page/card.js";
import type { FirstSteps } from "../page/first-steps.js";
import { readServiceMetrics, type ServiceMetrics } from "../service-metrics.js";
import type { Loaded, Page } from "../view.js";
import type { AlertCard } from "./alert-groups.js";
import { firingAlerts } from "./firing-alerts.js";
import { type DayTotals, dayTotals, messagesByStream, type StreamShares, wantedDays } from "./messages-by-stream.js";
import { Figures } from "./overview-figures.js";
import type { PointsOnly } from "./points-only.js";
import { segmentsWithPoints } from "./segments-with-points.js";
import { usePoll } from "./use-poll.js";

/** The largest streams of the chart; all others are one series. */
const STREAMS = 8;
const ROWS = 8;
const REFRESH_MS = 60_000;
/** Pause after a refresh before alerts are read, ms: they are evaluated a minute after a slot ends. */
const ALERT_PAUSE_MS = 75_000;

/** Undefined while no alert is firing: then its card is not loaded. */
type FiringAlerts = { readonly alerts: readonly Alert[]; readonly Card: typeof AlertCard } | undefined;

/** Series of a service that has neither catalogue nor messages; undefined for others: then their card is not loaded. */
type OnlyPoints = { readonly wanted: readonly WantedSeries[]; readonly Card: typeof PointsOnly } | undefined;

interface Data {
  readonly service: ServiceMetrics;
  readonly alerts: FiringAlerts;
  readonly segments: Optional<ListPage<ListedSegment>>;
  /** Number of segments that only have points. */
  readonly segmentsOfPoints: number;
  readonly experiences: Optional<ListPage<ListedExperience>>;
  /** Number of silent streams; undefined if the key may not see them. */
  readonly silent: number | undefined;
  readonly fetched: Fetched;
  readonly days: DayTotals | undefined;
  readonly shares: StreamShares;
  readonly points: OnlyPoints;
  /** Undefined unless the service contains nothing: then its script is not loaded. */
  readonly Empty: typeof FirstSteps | undefined;
}

/**
 * Pause after a refresh before segments that only have points are counted, ms: this request is not part of the refresh.
 */
const COUNT_PAUSE_MS = 10_000;

const readAlerts = kept(async (page): Promise<FiringAlerts> => {
  const alerts = await firingAlerts(page);
  return alerts.length === 0 ? undefined : { alerts, Card: (await import("./alert-groups.js")).AlertCard };
});

async function readPoints({ client, signal }: Page): Promise<OnlyPoints> {
  const { data } = await client.page("series", { limit: ROWS }, { signal });
  const wanted = data.flatMap(({ dimension, dimension_id, dimension_types }) =>
    dimension_types.map((dimension_type) => ({ dimension, dimension_id, dimension_type })),
  );
  return wanted.length === 0 ? undefined : { wanted, Card: (await import("./points-only.js")).PointsOnly };
}

const countOfPoints = kept(async (page) => (await segmentsWithPoints(page, 1))?.meta.total ?? 0);

/** State of the service, messages and changes. A refresh makes the first request alone: a revoked key costs one. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, now, signal } = page;
  const read = client.serviceMetrics({ signal });
  if (page.isRefresh) await read;
  const moved = { sort: "distance", order: "desc", limit: ROWS } as const;
  const largest = { sort: "now", order: "desc", limit: STREAMS } as const;
  const [metrics, alerts, segments, experiences, streams, segmentsOfPoints] = await Promise.all([
    read,
    readAlerts(page),
    optional(entryPage("segment", moved, page)),
    optional(entryPage("experience", moved, page)),
    optional(client.page("stream", { ...largest, ...countedWindow(page) }, { signal })),
    countOfPoints(page),
  ]);
  const entries = [segments, experiences, streams].reduce((sum, { value }) => sum + (value?.meta.total ?? 0), 0);
  const points = entries > 0 ? undefined : await readPoints(page);
  const names = (streams.value?.data ?? []).map(({ stream }) => stream);
  const trends = [...(segments.value?.data ?? []).map(sizeOf), ...(experiences.value?.data ?? []).map(rateOf)].map(
    (one): WantedSeries => ({ ...one, compare: false }),
  );
  const fetched = await fetchSeries(
    [
      ...wantedDays(now),
      messageSeries("all_streams"),
      ...names.map(messageSeries),
      ...trends,
      ...(points?.wanted ?? []),
    ],
    page,
  );
  const isEmpty = entries === 0 && points === undefined;
  return {
    data: {
      service: readServiceMetrics(metrics),
      Empty: isEmpty ? (await import("../page/first-steps.js")).FirstSteps : undefined,
      alerts,
      segments,
      segmentsOfPoints,
      experiences,
      silent: streams.value?.meta.silent,
      fetched,
      days: dayTotals(fetched, now),
      shares: messagesByStream(fetched, names, streams.value?.meta.total ?? 0),
      points,
    },
    isEmpty,
    nextAt: nextSaveOf(fetched.series) ?? now + REFRESH_MS,
  };
}

export function Show({ data, page }: { readonly data: Data; readonly page: Page }): VNode {
  const { segments, experiences, fetched, shares, points, Empty } = data;
  const currentAlerts = useReadAgain(readAlerts, data.alerts, ALERT_PAUSE_MS, page);
  const [alerts, showAlerts] = useSteady(currentAlerts, page);
  const currentCount = useReadAgain(countOfPoints, data.segmentsOfPoints, COUNT_PAUSE_MS, page);
  if (Empty !== undefined) return <Empty title="Overview" />;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      {namesOf(alerts) !== namesOf(currentAlerts) && (
        <p class="notice" role="status">
          {currentAlerts === undefined ? "No alert is firing any more." : "Alerts have changed."}{" "}
          <button type="button" class="plain" onClick={showAlerts}>
            Show
          </button>
        </p>
      )}
      {alerts && <alerts.Card alerts={alerts.alerts} page={page} />}
      <Figures {...data} streams={shares.streams} segmentsOfPoints={currentCount} page={page} />
      {points && <points.Card wanted={points.wanted} fetched={fetched} page={page} />}
      <section class="card">
        <Chart title="Messages by stream" series={shares.series} refused={shares.refused} page={page} canStack />
      </section>
      <Changed<ListedSegment>
        title="Segments that changed most"
        list={segments}
        columns={[
          nameColumn("Segment", "segment", page),
          { head: "Members now", isNumber: true, phone: "first", cell: ({ size }) => valueIn(size, "members") },
          ...changeColumns("members", page),
          trendColumn(fetched, sizeOf),
        ]}
      />
      <Changed<ListedExperience>
        title="Experiences that changed most"
        list={experiences}
        columns={[
          nameColumn("Experience", "experience", page),
          { head: "Conversion rate", isNumber: true, phone: "first", cell: ({ now }) => valueIn(now, "rate") },
          ...changeColumns("rate", page),
          trendColumn(fetched, rateOf),
        ]}
      />
    </>
  );
}

/** Returns a part of the view, which is read again some time after each refresh: it is not one of its requests. */
function useReadAgain<T>(read: (page: Page) => Promise<T>, loaded: T, pauseMs: number, page: Page): T {
  const [last, setLast] = useState<{ readonly since: number; readonly value: T }>();
  usePoll({
    key: String(page.now),
    firstMs: pauseMs,
    everyMs: pauseMs,
    async poll(signal) {
      if (page.isRefresh) setLast({ since: page.now, value: await read({ ...page, isRefresh: false, signal }) });
      return false;
    },
  });
  return last?.since === page.now ? last.value : loaded;
}

/** The alerts that are shown; others would move what is below them. */
const namesOf = (firing: FiringAlerts): string => (firing?.alerts ?? []).map(({ id, name }) => `${name} ${id}`).join();

/**
 * Returns a value as it was when the page led here, and a function that replaces it by the current one. A part of the
 * view that changes its height does not change while somebody reads.
 */
function useSteady<T>(current: T, { address }: Page): readonly [T, () => void] {
  const [kept, keep] = useState({ value: current, address });
  const steady = kept.address === address ? kept : { value: current, address };
  if (steady !== kept) keep(steady);
  return [steady.value, () => keep({ value: current, address })];
}

interface ChangedProps<R extends Entry & Moved> {
  readonly title: string;
  readonly list: Optional<ListPage<R>>;
  readonly columns: readonly Column<R>[];
}

/** The entries with the largest changes in the window, up or down. */
function Changed<R extends Entry & Moved>({ title, list: { value, refusal }, columns }: ChangedProps<R>): VNode {
  const rows = value?.data.filter(hasMoved) ?? [];
  return (
    <Card title={title}>
      {value === undefined ? (
        <p>{refusal}</p>
      ) : (
        <Table class="list" caption={title} columns={columns} rows={rows} rowKey={({ id }) => id} />
      )}
      {value !== undefined && rows.length === 0 && <p class="note">None changed.</p>}
    </Card>
  );
}
