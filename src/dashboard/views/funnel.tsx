import type { VNode } from "preact";
import { Chart } from "../chart/chart.js";
import { type Fetched, newestOf, type WantedSeries } from "../fetch-series.js";
import { amount } from "../format.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import type { Page } from "../view.js";
import { ChangeOfRange } from "./change-of-range.js";

const labels = {
  potentialreach: "potential reach",
  actualreach: "actual reach",
  conversionrate: "conversion rate",
} as const;

/** The three series of an experience or a group. */
export function wantedReach(dimension: "experience" | "experiencegroup", dimension_id: string): WantedSeries[] {
  return Object.entries(labels).map(([dimension_type, label]) => ({ dimension, dimension_id, dimension_type, label }));
}

/** The newest saved potential reach, actual reach and conversion rate. */
export function Funnel({ recent }: { readonly recent: Fetched }): VNode {
  return (
    <dl class="facts">
      {recent.series.map((one) => {
        const { name, label, unit } = one;
        const value = newestOf(one);
        return (
          <Fact key={name} name={label}>
            {value === null ? "–" : <data value={value}>{amount(value, unit)}</data>}
          </Fact>
        );
      })}
    </dl>
  );
}

/** One chart of people and one of rates. */
export function ReachCharts({ fetched, page }: { readonly fetched: Fetched; readonly page: Page }): VNode {
  return (
    <>
      {(["people", "rate"] as const).map((unit) => {
        const series = fetched.series.filter((one) => one.unit === unit);
        return (
          <Card key={unit} title={unit === "people" ? "Reach" : "Conversion"}>
            <Chart series={series} refused={fetched.refused.filter((one) => one.unit === unit)} page={page} />
            {series.map((one) => (
              <dl class="facts" key={one.name}>
                <Fact name="Series">{one.label}</Fact>
                <ChangeOfRange series={one} page={page} />
              </dl>
            ))}
          </Card>
        );
      })}
    </>
  );
}
