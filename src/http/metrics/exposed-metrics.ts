import { type LabelMatcher, METRIC_NAME } from "../../formats/series-selector.js";
import { type Dimension, dimensions, type KnownDimension } from "../../metrics/dimensions.js";
import { ratioOf } from "../../metrics/query/aggregate.js";
import { newestDue } from "../../metrics/query/freshness.js";
import { storedSeries } from "../../metrics/query/plan.js";

export type Labels = Readonly<Record<string, string>>;

/** Selectors of one request: a series is returned if one of them selects it. */
export type Selectors = readonly (readonly LabelMatcher[])[];

/** A metric of which a request may have series: the series of one type of a dimension. */
export interface ExposedMetric {
  readonly name: string;
  readonly help: string;
  /** The stored types from which its value is computed: its own, or numerator and denominator. */
  readonly stored: readonly string[];
  /** Returns whether series with these labels are requested. */
  selects(labels: Labels): boolean;
}

type Texts = readonly [name: string, help: string];

const reach = (dimension: string, of: string): Readonly<Record<string, Texts>> => ({
  potentialreach: [`${dimension}_potential_reach`, `Members of the audience of ${of}.`],
  actualreach: [`${dimension}_actual_reach`, `Members of both audience and goal of ${of}.`],
  conversionrate: [`${dimension}_conversion_rate`, `Actual reach of ${of} divided by its potential reach.`],
  converted: [`${dimension}_converted`, `Value of type converted that clients wrote for ${of}.`],
  size: [`${dimension}_size`, `Value of type size that clients wrote for ${of}.`],
});

/** Name (after `entity_metrics_`) and help text of each exposed type. The types of a dimension are due together. */
const exposed: Readonly<Record<KnownDimension["name"], Readonly<Record<string, Texts>>>> = {
  segment: { size: ["segment_size", "Members of a segment."] },
  experience: reach("experience", "an experience"),
  experiencegroup: reach("experiencegroup", "a group of experiences"),
  stream: { size: ["stream_messages", "Messages of a stream in the slot that ended last."] },
};

const typesOf = ({ name }: Dimension) => Object.entries(exposed[name as KnownDimension["name"]]);

/** Returns the metrics of a dimension whose names are selected. */
export function exposedMetrics(dimension: Dimension, selectors: Selectors): ExposedMetric[] {
  return typesOf(dimension).flatMap(([type, [ending, help]]) => {
    const name = `entity_metrics_${ending}`;
    const own = selectors
      .filter((matchers) => matchers.every(({ label, matches }) => label !== METRIC_NAME || matches(name)))
      .map((matchers) => matchers.filter(({ label }) => label !== METRIC_NAME));
    if (own.length === 0) return [];
    const stored = storedSeries({ dimension, id: "", type }).map((one) => one.type);
    const selects = (labels: Labels) =>
      own.some((matchers) => matchers.every(({ label, matches }) => matches(labelOf(labels, label))));
    return { name, help, stored, selects };
  });
}

function labelOf(labels: Labels, name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] as string) : "";
}

/** Returns the value of a metric from the values of stored types; NaN without one. */
export function metricValue({ stored }: ExposedMetric, values: ReadonlyMap<string, number>): number {
  const [first = Number.NaN, second] = stored.map((type) => values.get(type) ?? Number.NaN);
  return second === undefined ? first : ratioOf(first, second);
}

/** Returns the start (Unix ms) of the slot of a dimension whose values are current: the newest one that is due. */
export function currentSlot(dimension: Dimension, now: number): number {
  const [[type] = [""]] = typesOf(dimension);
  return newestDue({ dimension, type }, now);
}

/** Returns the metric with the start of the current slots, in Prometheus' text format. */
export function slotMetric(now: number): string {
  const name = "entity_metrics_slot_timestamp_seconds";
  const lines = dimensions.map(
    (dimension) => `${name}${labelsText({ dimension: dimension.name })} ${currentSlot(dimension, now) / 1000}\n`,
  );
  return metricText({ name, help: "Start of the slot whose values are shown." }, lines);
}

/** Returns a metric in Prometheus' text format; nothing without lines. */
export function metricText({ name, help }: Pick<ExposedMetric, "name" | "help">, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
}

export function labelsText(labels: Labels): string {
  return `{${Object.entries(labels).map(labelText).join(",")}}`;
}

function labelText([name, value]: readonly [string, string]): string {
  if (!/[\\"\n]/.test(value)) return `${name}="${value}"`;
  return `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
