import type { Series } from "../../metrics/series.js";
import { isSeries, type SeriesIssue, WritableSeries } from "../../metrics/writable-points.js";
import type { Folding } from "./slot-table.js";

/** Numbers, from 0, for the series that files name, and how the values of each fold. */
export class SeriesNumbers {
  readonly series: Series[] = [];
  readonly foldings: Folding[] = [];
  readonly #folding: Folding | undefined;
  readonly #writable = new WritableSeries();
  readonly #numbers = new Map<Series, number>();

  /** `folding` holds for every series; without it counts are summed, and of sizes the last stays. */
  constructor(folding: Folding | undefined) {
    this.#folding = folding;
  }

  /** The number of a series that may be written, or what is wrong with its names. */
  find(dimension: unknown, id: unknown, type: unknown): number | SeriesIssue {
    const found = this.#writable.find(dimension, id, type);
    if (!isSeries(found)) return found;
    return this.#numbers.get(found) ?? this.#add(found);
  }

  #add(series: Series): number {
    const number = this.series.length;
    this.series.push(series);
    this.foldings.push(this.#folding ?? (series.dimension.defaultAggregation === "sum" ? "sum" : "last"));
    this.#numbers.set(series, number);
    return number;
  }
}
