export const viewNames = ["overview", "segments", "experiences", "streams", "explore", "erasure", "health"] as const;
export type ViewName = (typeof viewNames)[number];

/** What the page shows. All of it stands in its address, so that a link shows the same; identities and search terms never do. */
export interface Address {
  readonly view: ViewName;
  /** Names of series, `<dimension>.<dimension_id>.<dimension_type>`. */
  readonly series: readonly string[];
  /** A window back from now, such as `7d`. */
  readonly range: string;
  /** What a bucket is; undefined lets the range decide. */
  readonly interval: string | undefined;
  readonly aggregation: string | undefined;
  readonly smooth: boolean;
  /** Whether the window before is shown too. */
  readonly compare: boolean;
}

export const ranges = ["1d", "2d", "7d", "4w", "12w", "52w"] as const;
export const intervals = ["1h", "2h", "4h", "6h", "12h", "1d", "2d", "1w"] as const;
export const aggregations = ["sum", "max", "min"] as const;

export function readAddress(search: string): Address {
  const query = new URLSearchParams(search);
  const one = <T extends string>(name: string, known: readonly T[]) => known.find((value) => value === query.get(name));
  return {
    view: one("view", viewNames) ?? "overview",
    series: query.getAll("series").filter((name) => seriesNamed(name) !== undefined),
    range: one("range", ranges) ?? "7d",
    interval: one("interval", intervals),
    aggregation: one("aggregation", aggregations),
    smooth: query.get("smooth") === "true",
    compare: query.get("compare") === "true",
  };
}

export function addressText({ view, series, range, interval, aggregation, smooth, compare }: Address): string {
  const query = new URLSearchParams({ view });
  for (const name of series) query.append("series", name);
  query.set("range", range);
  if (interval !== undefined) query.set("interval", interval);
  if (aggregation !== undefined) query.set("aggregation", aggregation);
  if (smooth) query.set("smooth", "true");
  if (compare) query.set("compare", "true");
  return `?${query}`;
}

/** A series by its parts. The id may hold dots. */
export interface SeriesName {
  readonly dimension: string;
  readonly dimension_id: string;
  readonly dimension_type: string;
}

export function seriesNamed(name: string): SeriesName | undefined {
  const [, dimension = "", dimension_id = "", dimension_type = ""] = /^([^.]+)\.(.+)\.([^.]+)$/s.exec(name) ?? [];
  return dimension === "" ? undefined : { dimension, dimension_id, dimension_type };
}

export function nameOf({ dimension, dimension_id, dimension_type }: SeriesName): string {
  return `${dimension}.${dimension_id}.${dimension_type}`;
}
