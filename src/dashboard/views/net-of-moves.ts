import type { Series, Values } from "../fetch-series.js";

/** The people who joined less those who left in each bucket; none unless both series are known. */
export function netOf([joined, left]: readonly Series[]): Series[] {
  if (joined === undefined || left === undefined) return [];
  const net = (all: Values, out: Values) =>
    all.map((value, at) => (value === null && out[at] == null ? null : (value ?? 0) - (out[at] ?? 0)));
  const before = joined.before && left.before && net(joined.before, left.before);
  const name = joined.name.replace(/joined$/, "net");
  return [{ ...joined, name, label: "net", values: net(joined.values, left.values), before }];
}
