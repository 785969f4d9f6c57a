import type { Unit } from "../format.js";

/** The y axis of a chart: its range, and its grid lines with their labels. */
export interface Axis {
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
  readonly labels: readonly string[];
}

interface AxisOptions {
  readonly unit: Unit;
  /** Begins at the smallest value instead of 0. */
  readonly isFitted?: boolean;
  /** Minimum number of steps. */
  readonly steps?: number;
}

/**
 * Returns the axis of values: whole steps of 1, 2 or 5 times a power of ten, 0 included unless it is fitted. Whole
 * values have whole steps, and an axis of zeros ends at 1.
 */
export function yAxis(values: readonly number[], { unit, isFitted = false, steps = 3 }: AxisOptions): Axis {
  const least = values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const most = values.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  const [from, to] = isFitted && least < most ? [least, most] : [Math.min(0, least), Math.max(0, most)];
  if (from === to || values.length === 0) return axisOf(0, 1, 1, unit);
  const step = stepOf((to - from) / steps);
  const isWhole = unit !== "rate" && values.every(Number.isInteger);
  return axisOf(from, to, isWhole ? Math.max(1, step) : step, unit);
}

/** Error of a division that is not a part of a step. */
const ROUND = 1e-9;

function axisOf(from: number, to: number, step: number, unit: Unit): Axis {
  const [first, last] = [Math.floor(from / step + ROUND), Math.ceil(to / step - ROUND)];
  // A multiple of a step is nearer to its decimal number than a sum of steps.
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
  const label = labelOf(step, Math.max(Math.abs(first), Math.abs(last)) * step, unit);
  return { min: ticks[0] as number, max: ticks.at(-1) as number, ticks, labels: ticks.map(label) };
}

/** The largest of 1, 2 and 5 times a power of ten that is not above a length. */
function stepOf(length: number): number {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * ([5, 2].find((one) => one * power <= length) ?? 1);
}

/** Largest and smallest numbers that are written with all their digits. */
const LARGE = 1_000_000;
const SMALL = 0.001;

/** Labels of one axis have as many decimals as its step needs, and one power of ten. */
function labelOf(step: number, most: number, unit: Unit): (value: number) => string {
  const [scale, suffix] = unit === "rate" ? [100, " %"] : most < LARGE ? [1, ""] : powerOf(most);
  const isTiny = step * scale < SMALL || most * scale >= LARGE;
  const digits = Math.max(0, -Math.floor(Math.log10(step * scale) + ROUND));
  const plain = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const zero = unit === "rate" ? "0 %" : "0";
  const written = (value: number) => (isTiny ? exponent(value) : plain.format(value));
  return (value) => (value === 0 ? zero : `${written(value * scale)}${suffix}`.replaceAll("-", "−"));
}

function powerOf(most: number): [number, string] {
  if (most < 1e9) return [1e-6, " M"];
  return most < 1e12 ? [1e-9, " bn"] : [1, ""];
}

const exponent = (value: number) => Number(value.toPrecision(3)).toExponential().replace("e+", "e");
