import { yieldToStarted, yieldWhenDue } from "../../async/yielding.js";
import type { CatalogueStore } from "../../catalogue/ports.js";
import { ServiceError } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import type { UncachedSlots } from "../../metrics/cache/uncached-slots.js";
import { type Dimension, dimensions } from "../../metrics/dimensions.js";
import { type ListedId, listedPages } from "../../metrics/listings.js";
import type { SeriesStore } from "../../metrics/ports.js";
import {
  currentSlot,
  type ExposedMetric,
  exposedMetrics,
  type Labels,
  labelsText,
  metricText,
  metricValue,
  type Selectors,
  slotMetric,
} from "./exposed-metrics.js";

export interface ExposedSeriesDependencies {
  readonly series: Pick<SeriesStore, "list">;
  readonly slots: UncachedSlots;
  readonly catalogue: Pick<CatalogueStore, "segmentsById" | "experiencesById">;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
}

/** Maximum series with a value in a response. */
export const MAX_EXPOSED = 10_000;

/** Ids listed and read at once. */
const PAGE = 200;

/** Requested series of one id. */
interface Selected {
  readonly id: string;
  readonly labels: Labels;
  readonly metrics: readonly ExposedMetric[];
  /** The stored types to read. */
  readonly types: readonly string[];
}

/**
 * Returns the current values of the selected series as of `now` (Unix ms), in Prometheus' text format; with `stream`
 * only the series of this stream. A series without a value in the current slot is absent. Reads series in batches.
 * Throws `unprocessable` if more than `MAX_EXPOSED` series have a value.
 */
export type ExposedSeries = (
  selectors: Selectors,
  stream: string | undefined,
  now: number,
  memory: Reservation,
) => Promise<string>;

export function exposedSeries(dependencies: ExposedSeriesDependencies): ExposedSeries {
  const { series, slots, catalogue, retention } = dependencies;

  return async (selectors, stream, now, memory) => {
    const oldest = now - (retention() ?? Number.POSITIVE_INFINITY);
    const texts: string[] = [];
    let count = 0;
    for (const dimension of dimensions) {
      if (stream !== undefined && dimension.name !== "stream") continue;
      const lines = new Map(exposedMetrics(dimension, selectors).map((metric) => [metric, [] as string[]]));
      const from = currentSlot(dimension, now);
      if (lines.size === 0 || from < oldest) continue;
      for await (const listed of listedPages(series, dimension, { prefix: stream ?? "", limit: PAGE })) {
        const page = stream === undefined ? listed : listed.filter(({ id }) => id === stream);
        const selected = await select(dimension, page, [...lines.keys()]);
        const added = await samplesOf(dimension, selected, from);
        for (const [metric, line] of added) lines.get(metric)?.push(line);
        count += added.length;
        if (count > MAX_EXPOSED) throw tooMany();
        memory.reserve(added.reduce((sum, [, line]) => sum + line.length, 0));
        // One page in each round of the event loop.
        await yieldToStarted();
      }
      texts.push(...Array.from(lines, ([metric, own]) => metricText(metric, own)));
    }
    return texts.join("") + slotMetric(now);
  };

  /** Returns the ids of which series are requested and may have a value. */
  async function select(
    dimension: Dimension,
    page: readonly ListedId[],
    metrics: readonly ExposedMetric[],
  ): Promise<Selected[]> {
    const labelled = await labelsOf(dimension, page);
    const selected: Selected[] = [];
    for (const [i, { id, types }] of page.entries()) {
      const labels = labelled[i] as Labels;
      const own = metrics.filter(({ stored, selects }) => types.includes(stored.at(-1) as string) && selects(labels));
      if (own.length > 0)
        selected.push({ id, labels, metrics: own, types: [...new Set(own.flatMap(({ stored }) => stored))] });
      await yieldWhenDue();
    }
    return selected;
  }

  /** Returns the labels of each id, with the present names of the catalogue. */
  async function labelsOf({ name: dimension }: Dimension, page: readonly { id: string }[]): Promise<Labels[]> {
    const ids = page.map(({ id }) => id);
    if (dimension === "segment") {
      const known = await catalogue.segmentsById(ids);
      return ids.map((id) => ({ segment: id, name: known.get(id)?.name ?? id }));
    }
    if (dimension === "experience") {
      const known = await catalogue.experiencesById(ids);
      return ids.map((id) => {
        const { name = id, group } = known.get(id) ?? {};
        return { experience: id, name, ...(group !== undefined && { group }) };
      });
    }
    return ids.map((id) => ({ [dimension === "experiencegroup" ? "group" : dimension]: id }));
  }

  /** Reads the slot that starts at `from`, and returns a line for each series with a value in it. */
  async function samplesOf(dimension: Dimension, selected: readonly Selected[], from: number) {
    if (selected.length === 0) return [];
    const windows = selected.flatMap(({ id, types }) =>
      types.map((type) => ({ series: { dimension, id, type }, from, to: from + dimension.slotMs })),
    );
    const read = (await slots(windows)).values();
    return selected.flatMap(({ labels, metrics, types }) => {
      const values = new Map(types.map((type) => [type, read.next().value?.value[0] ?? Number.NaN]));
      const text = labelsText(labels);
      return metrics.flatMap((metric): (readonly [ExposedMetric, string])[] => {
        const value = metricValue(metric, values);
        return Number.isNaN(value) ? [] : [[metric, `${metric.name}${text} ${value}\n`]];
      });
    });
  }
}

function tooMany(): ServiceError {
  const message = `More than ${MAX_EXPOSED} of the selected series have a value: select fewer`;
  return new ServiceError("unprocessable", message, {
    issues: [{ code: "too_many_series", path: "match[]", message }],
  });
}
