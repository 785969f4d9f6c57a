import type { VNode } from "preact";
import { Chart } from "../chart/chart.js";
import type { Fetched } from "../fetch-series.js";
import type { Unit } from "../format.js";
import type { Page } from "../view.js";

interface UnitChartProps {
  /** Replaces the name of the unit. */
  readonly title?: string;
  readonly unit: Unit;
  readonly fetched: Fetched;
  readonly page: Page;
}

/** A card with the chart of the series of one unit. */
export function UnitChart({ title, unit, fetched: { series, refused }, page }: UnitChartProps): VNode {
  return (
    <section class="card">
      <Chart
        title={title}
        series={series.filter((one) => one.unit === unit)}
        refused={refused.filter((one) => one.unit === unit)}
        page={page}
      />
    </section>
  );
}
