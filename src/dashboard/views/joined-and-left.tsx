import type { VNode } from "preact";
import type { ListedSegment, SeriesRequest } from "../../client/client.js";
import { barsOf } from "../chart/bars.js";
import { Chart } from "../chart/chart.js";
import { slotOf } from "../dimensions.js";
import { type Fetched, newestOf, type WantedSeries } from "../fetch-series.js";
import { datesOf, windowOf } from "../time-window.js";
import type { Page } from "../view.js";
import { netOf } from "./net-of-moves.js";

/** The series of the people who joined and left a segment. */
export const movesOf = (id: string): WantedSeries[] =>
  ["joined", "left"].map((dimension_type) => ({
    dimension: "segment",
    dimension_id: id,
    dimension_type,
    label: dimension_type,
    aggregation: "sum",
  }));

/** People who joined and left between the two sizes of a change. */
export interface Moves {
  readonly joined: number;
  readonly left: number;
}

/** Returns the moves that explain the change of a row in the window; undefined where none are recorded. */
export async function findMoves({ id, since }: ListedSegment, page: Page): Promise<Moves | undefined> {
  const { from, to } = windowOf(page, "segment");
  const slotMs = slotOf("segment");
  const open = Math.floor(page.now / slotMs) * slotMs;
  // The newest size is taken at the start of its slot, so the moves of that slot are not part of the change.
  const window = { from: since === undefined ? from : Date.parse(since), to: Math.min(to - slotMs, open) };
  if (window.to <= window.from) return undefined;
  const requests = movesOf(id).map(({ label: _, ...series }) => ({ ...series, ...datesOf(window), interval: "1w" }));
  const answers = await page.client.metrics(requests as SeriesRequest[], { signal: page.signal });
  const [joined, left] = answers.map(({ values = [] }) => values.map(({ value }) => value));
  if (joined === undefined || left === undefined || joined.length + left.length === 0) return undefined;
  return { joined: total(joined), left: total(left) };
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Bars of both series with their net as a line; renders nothing without values. */
export function JoinedAndLeft({ fetched, page }: { readonly fetched: Fetched; readonly page: Page }): VNode | null {
  const series = fetched.series.filter(({ unit }) => unit === "moves");
  const refused = fetched.refused.filter(({ unit }) => unit === "moves");
  if (series.every((one) => newestOf(one) === null)) return null;
  return (
    <section class="card">
      <Chart
        title="Joined and left"
        series={[...series, ...netOf(series)]}
        refused={refused}
        page={page}
        bars={barsOf}
      />
    </section>
  );
}
