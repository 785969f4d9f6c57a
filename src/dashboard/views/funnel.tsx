import type { VNode } from "preact";
import { Chart } from "../chart/chart.js";
import { type Fetched, newestOf, type WantedSeries } from "../fetch-series.js";
import { amount, type Unit } from "../format.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import type { Page } from "../view.js";

const labels = {
  potentialreach: "potential reach",
  actualreach: "actual reach",
  conversionrate: "conversion rate",
} as const;

/** The three series of an experience or a group. */
export function wantedReach(dimension: "experience" | "experiencegroup", dimension_id: string): WantedSeries[] {
  return Object.entries(labels).map(([dimension_type, label]) => ({ dimension, dimension_id, dimension_type, label }));
}

/** The change of the rate in a range. */
interface RangeChange {
  readonly range: string;
  readonly text: string;
}

/** The newest saved potential and actual reach as bars of one scale, and the conversion rate with its change. */
export function Funnel({ recent, change }: { readonly recent: Fetched; readonly change?: RangeChange }): VNode {
  const newest = (type: keyof typeof labels) => {
    const series = recent.series.find(({ name }) => name.endsWith(`.${type}`));
    return { unit: series?.unit ?? "people", value: newestOf(series) };
  };
  const [potential, actual, rate] = [newest("potentialreach"), newest("actualreach"), newest("conversionrate")];
  const share = potential.value ? Math.min(1, (actual.value ?? 0) / potential.value) : 0;
  return (
    <>
      <Step label={labels.potentialreach} {...potential} share={potential.value === null ? 0 : 1} />
      <Step label={labels.actualreach} {...actual} share={share} />
      <dl class="facts">
        <Fact name={labels.conversionrate}>
          {rate.value === null ? "–" : <data value={rate.value}>{amount(rate.value, rate.unit)}</data>}
        </Fact>
        {change !== undefined && <Fact name={`Change, ${change.range}`}>{change.text}</Fact>}
      </dl>
    </>
  );
}

interface StepProps {
  readonly label: string;
  readonly unit: Unit;
  readonly value: number | null;
  /** Width of the bar, from 0 to 1: 1 is the widest. */
  readonly share: number;
}

function Step({ label, unit, value, share }: StepProps): VNode {
  return (
    <div class="step" style={{ "--share": String(share) }}>
      <span>{label}</span> <b>{value === null ? "–" : <data value={value}>{amount(value, unit)}</data>}</b>
    </div>
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
          </Card>
        );
      })}
    </>
  );
}
