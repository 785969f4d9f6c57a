import type { VNode } from "preact";
import { type Fetched, newestOf, type Series, type WantedSeries } from "../fetch-series.js";
import { valueIn } from "../list/columns.js";
import type { Page } from "../view.js";
import { UnitChart } from "./unit-chart.js";

const labels = {
  potentialreach: "potential reach",
  actualreach: "actual reach",
  conversionrate: "conversion rate",
} as const;

/** The three series of an experience or a group. */
export function wantedReach(dimension: "experience" | "experiencegroup", dimension_id: string): WantedSeries[] {
  return Object.entries(labels).map(([dimension_type, label]) => ({ dimension, dimension_id, dimension_type, label }));
}

/** The newest saved conversion rate as a fact. */
export function rateFact({ recent }: { readonly recent: Fetched }) {
  return [labels.conversionrate, valueIn(newestOf(seriesOfType(recent, "conversionrate")), "rate")] as const;
}

/** The newest saved potential and actual reach as bars of one scale. */
export function Funnel({ recent }: { readonly recent: Fetched }): VNode {
  const potential = newestOf(seriesOfType(recent, "potentialreach"));
  const actual = newestOf(seriesOfType(recent, "actualreach"));
  const share = potential ? Math.min(1, (actual ?? 0) / potential) : 0;
  return (
    <>
      <Step label={labels.potentialreach} value={potential} share={potential === null ? 0 : 1} />
      <Step label={labels.actualreach} value={actual} share={share} />
    </>
  );
}

const seriesOfType = ({ series }: Fetched, type: keyof typeof labels): Series | undefined =>
  series.find(({ name }) => name.endsWith(`.${type}`));

interface StepProps {
  readonly label: string;
  readonly value: number | null;
  /** Width of the bar, from 0 to 1: 1 is the widest. */
  readonly share: number;
}

function Step({ label, value, share }: StepProps): VNode {
  return (
    <div class="step" style={{ "--share": String(share) }}>
      <span>{label}</span> <b>{valueIn(value, "people")}</b>
    </div>
  );
}

/** One chart of people and one of rates. */
export function ReachCharts(props: { readonly fetched: Fetched; readonly page: Page }): VNode {
  return (
    <>
      <UnitChart title="Reach" unit="people" {...props} />
      <UnitChart title="Conversion" unit="rate" {...props} />
    </>
  );
}
