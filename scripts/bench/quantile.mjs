/** Returns the quantile of the values: 0.5 is the median. */
export function quantile(values, part) {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(part * values.length))];
}
