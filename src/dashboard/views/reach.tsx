import type { VNode } from "preact";
import type { Fetched, WantedSeries } from "../fetch-series.js";
import { Time } from "../list/time.js";
import { valueIn } from "../list/value.js";
import type { Page } from "../view.js";
import { newestReach } from "./newest-reach.js";
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

/** The newest conversion rate, for the head of a page. */
export function rateFigure(recent: Fetched, page: Page) {
  const reach = newestReach(recent);
  if (reach === undefined) return { value: "–", unit: labels.conversionrate };
  return {
    value: valueIn(reach.rate, "rate"),
    unit: (
      <>
        {labels.conversionrate} at <Time at={new Date(reach.at).toISOString()} page={page} />
      </>
    ),
  };
}

/** The newest potential and actual reach as bars of one scale. */
export function Funnel({ recent }: { readonly recent: Fetched }): VNode | null {
  const reach = newestReach(recent);
  if (reach === undefined) return null;
  return (
    <div>
      <Step label={labels.potentialreach} value={reach.potential} share={1} />
      <Step label={labels.actualreach} value={reach.actual} share={Math.min(1, reach.rate)} />
    </div>
  );
}

interface StepProps {
  readonly label: string;
  readonly value: number;
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
      <UnitChart unit="rate" {...props} />
    </>
  );
}
