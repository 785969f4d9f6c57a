import type { VNode } from "preact";
import { nameOf } from "../address.js";
import { Chart } from "../chart/chart.js";
import type { Fetched, WantedSeries } from "../fetch-series.js";
import { unitOf } from "../format.js";
import { Card } from "../page/card.js";
import { Link } from "../page/link.js";
import type { Page } from "../view.js";

interface PointsOnlyProps {
  readonly wanted: readonly WantedSeries[];
  readonly fetched: Fetched;
  readonly page: Page;
}

/** Series of a service that has neither catalogue entries nor messages: one chart for each unit. */
export function PointsOnly({ wanted, fetched, page }: PointsOnlyProps): VNode {
  const names = wanted.map(nameOf);
  const series = fetched.series.filter(({ name }) => names.includes(name));
  const units = new Set(wanted.map((one) => unitOf(one.dimension, one.dimension_type)));
  return (
    <Card title="Series with points">
      {[...units].map((unit) => (
        <Chart key={unit} series={series.filter((one) => one.unit === unit)} page={page} beside={series} />
      ))}
      <p>
        <Link to={{ view: "explore", series: names }} page={page}>
          Open in Explore
        </Link>
      </p>
    </Card>
  );
}
