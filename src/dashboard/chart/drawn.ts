import type { Series, Values } from "../fetch-series.js";

/** Lines of values over time; the same on top of each other; or bars up and down around 0. */
export type Shape = "lines" | "stack" | "bars";

/** A series with the values that the chart draws for it. */
export interface Drawn {
  readonly one: Series;
  readonly values: Values;
  /** The window before; undefined unless it is drawn too. */
  readonly before: Values | undefined;
  readonly isBar: boolean;
}

/** Returns the series in the order in which they are drawn: of a stack the highest sum first, bars before lines. */
export function drawnOf(series: readonly Series[], shape: Shape): Drawn[] {
  if (shape === "stack") return stacked(series);
  const lines = series.map((one): Drawn => ({ one, values: one.values, before: one.before, isBar: false }));
  return shape === "bars" ? lines.map(barOf) : lines;
}

/** Joined is a bar up, left a bar down. Their net stays a line. */
function barOf(drawn: Drawn): Drawn {
  const { one } = drawn;
  if (one.name.endsWith(".net")) return drawn;
  const sign = one.name.endsWith(".left") ? -1 : 1;
  return { one, values: one.values.map((value) => value && value * sign), before: undefined, isBar: true };
}

/** The first series is the lowest. */
function stacked(series: readonly Series[]): Drawn[] {
  const sums: (number | null)[] = (series[0]?.values ?? []).map(() => null);
  return series
    .map((one): Drawn => {
      one.values.forEach((value, at) => {
        if (value !== null) sums[at] = (sums[at] ?? 0) + value;
      });
      return { one, values: [...sums], before: undefined, isBar: false };
    })
    .reverse();
}

/** The rest of all series may be this much larger than the largest named one, and is still shown whole. */
const REST = 2;

/** The values that decide the scale. A larger rest of all series is cut, so that it does not flatten the named ones. */
export function scaleValues(drawn: readonly Drawn[]): { readonly values: number[]; readonly isRestCut: boolean } {
  const named = valuesOf(drawn.filter(({ one }) => !one.isRest));
  const rest = valuesOf(drawn.filter(({ one }) => one.isRest));
  const isRestCut = named.length > 0 && largest(rest) > REST * largest(named);
  return { values: isRestCut ? named : [...named, ...rest], isRestCut };
}

const valuesOf = (drawn: readonly Drawn[]): number[] =>
  drawn.flatMap(({ values, before = [] }) => [...values, ...before].filter((value) => value !== null));

const largest = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), 0);
