/** Returns the value below which this part of all values is: 0.5 for the median. */
export function quantile(values, part) {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(part * values.length))];
}
