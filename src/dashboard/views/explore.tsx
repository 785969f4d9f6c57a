import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { aggregations, intervals, nameOf, type SeriesName, seriesNamed } from "../address.js";
import { Chart } from "../chart/chart.js";
import { type Fetched, fetchSeries, newestOf, nextSaveOf, type Series, type WantedSeries } from "../fetch-series.js";
import { count, fullTime, type Unit, unitOf } from "../format.js";
import { findEntry } from "../list/entries.js";
import { Card } from "../page/card.js";
import { Choice } from "../page/choice.js";
import { Toggle } from "../page/toggle.js";
import type { Loaded, Page } from "../view.js";
import { hasPoints } from "./has-points.js";
import { labelled } from "./series-labels.js";
import { SeriesPicker } from "./series-picker.js";
import { Share } from "./share.js";

interface Data {
  readonly wanted: readonly WantedSeries[];
  readonly fetched: Fetched;
}

/** Any series together, one chart for each unit. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const named = page.address.series.flatMap((name) => seriesNamed(name) ?? []);
  const [fetched, wanted] = await Promise.all([fetchSeries(named, page), labelled(named, page)]);
  const unknown = await Promise.all(
    fetched.series.map(async (one) => newestOf(one) === null && !(await isKnown(one.name, page)) && one.name),
  );
  return {
    data: { wanted, fetched: withLabels(fetched, wanted) },
    nextAt: nextSaveOf(fetched.series),
    problems: unknown.filter((name) => name !== false).map((name) => `The service has no series “${name}”.`),
  };
}

/** Returns whether a series without values in the window has points, or is of a listed thing. */
async function isKnown(name: string, page: Page): Promise<boolean> {
  const { dimension, dimension_id: id } = seriesNamed(name) as SeriesName;
  if (await hasPoints(page, dimension, id)) return true;
  const list = (["segment", "experience", "stream"] as const).find((one) => one === dimension);
  return id === "all_streams" || (list !== undefined && (await findEntry(list, id, page)) !== undefined);
}

/** The fetched series with the labels of the wanted ones. */
function withLabels({ series, refused }: Fetched, wanted: readonly WantedSeries[]): Fetched {
  const labels = new Map(wanted.map((one) => [nameOf(one), one.label]));
  const named = <S extends { readonly name: string; readonly label: string }>(one: S): S => ({
    ...one,
    label: labels.get(one.name) ?? one.label,
  });
  return { series: series.map(named), refused: refused.map(named) };
}

export function Show({ data: { wanted, fetched }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const { address, go } = page;
  const labels = new Map(wanted.map((one) => [nameOf(one), one.label]));
  const units = new Set(wanted.map((one) => unitOf(one.dimension, one.dimension_type)));
  return (
    <>
      <h1 class="hidden">Explore</h1>
      {[...units].map((unit) => (
        <UnitChart key={unit} unit={unit} wanted={wanted} fetched={fetched} page={page} />
      ))}
      {wanted.length === 0 && (
        <section class="card empty-chart">
          <p class="note">Add a series below: it is drawn here, and series of one unit together.</p>
        </section>
      )}
      <Card title="Series">
        <ul class="chips">
          {address.series.map((name) => (
            <li key={name} title={name}>
              <bdi class="cut">{labels.get(name) ?? name}</bdi>{" "}
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${labels.get(name) ?? name}`}
                onClick={() => go({ series: address.series.filter((one) => one !== name) })}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
        <div class="controls">
          <SeriesPicker page={page} />
          <Controls page={page} />
        </div>
      </Card>
    </>
  );
}

interface UnitChartProps {
  readonly unit: Unit;
  readonly wanted: readonly WantedSeries[];
  readonly fetched: Fetched;
  readonly page: Page;
}

/** Chart of all series of one unit. Renders nothing without series. */
function UnitChart({ unit, wanted, fetched, page }: UnitChartProps): VNode | null {
  const png = useRef<() => Promise<Blob | null>>(undefined);
  const own = wanted.filter((one) => unitOf(one.dimension, one.dimension_type) === unit);
  if (own.length === 0) return null;
  const series = fetched.series.filter((one) => one.unit === unit);
  const refused = fetched.refused.filter((one) => one.unit === unit);
  return (
    <section class="card">
      <Chart
        series={series}
        refused={refused}
        page={page}
        beside={fetched.series}
        pngRef={png}
        actions={
          <Share series={series} wanted={own} page={page} png={() => png.current?.() ?? Promise.resolve(null)} />
        }
      />
      <Gaps series={series} page={page} />
    </section>
  );
}

/** Names the gaps: complete buckets without a value between two with one. */
function Gaps({ series, page }: { readonly series: readonly Series[]; readonly page: Page }): VNode | null {
  const gaps = series.flatMap((one) => gapsOf(one).map(([from, to]) => ({ name: one.label, from, to })));
  if (gaps.length === 0) return null;
  return (
    <details class="note">
      <summary>
        {count(gaps.length)} {gaps.length === 1 ? "gap" : "gaps"}
      </summary>
      <ul>
        {gaps.map(({ name, from, to }) => (
          <li key={`${name} ${from}`}>
            {name}: no value from {fullTime(from, page.zone)} to {fullTime(to, page.zone)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function gapsOf({ values, window }: Series): [number, number][] {
  const gaps: [number, number][] = [];
  let last: number | undefined;
  values.forEach((value, at) => {
    if (value === null) return;
    if (last !== undefined && at - last > 1)
      gaps.push([window.buckets[last + 1] as number, window.buckets[at] as number]);
    last = at;
  });
  return gaps;
}

function Controls({ page: { address, go } }: { readonly page: Page }): VNode {
  const words = (value: string) => value || "automatic";
  return (
    <>
      <Choice
        label="Interval"
        value={address.interval ?? ""}
        options={["", ...intervals]}
        words={words}
        onChoose={(interval) => go({ interval: interval || undefined })}
      />
      <Choice
        label="Aggregation"
        value={address.aggregation ?? ""}
        options={["", ...aggregations]}
        words={words}
        onChoose={(aggregation) => go({ aggregation: aggregation || undefined })}
      />
      <Toggle label="Smooth" isOn={address.smooth} onChange={(smooth) => go({ smooth })} />
    </>
  );
}
