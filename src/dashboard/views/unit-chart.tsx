import type { VNode } from "preact";
import { Chart } from "../chart/chart.js";
import type { Fetched } from "../fetch-series.js";
import type { Unit } from "../format.js";
import { Card } from "../page/card.js";
import type { Page } from "../view.js";

interface UnitChartProps {
  readonly title: string;
  readonly unit: Unit;
  readonly fetched: Fetched;
  readonly page: Page;
}

/** A card with the chart of the series of one unit. */
export function UnitChart({ title, unit, fetched: { series, refused }, page }: UnitChartProps): VNode {
  return (
    <Card title={title}>
      <Chart
        series={series.filter((one) => one.unit === unit)}
        refused={refused.filter((one) => one.unit === unit)}
        page={page}
      />
    </Card>
  );
}
