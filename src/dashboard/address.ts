import { DAY } from "./duration.js";
import { aggregationTitles } from "./format.js";

const viewNames = [
  "overview",
  "segments",
  "segment",
  "experiences",
  "experience",
  "group",
  "streams",
  "stream",
  "people",
  "explore",
  "deletions",
  "alerts",
  "health",
] as const;
export type ViewName = (typeof viewNames)[number];

/** The state of the page that a link restores. Identities, and search terms of people, are never part of it. */
export interface Address {
  readonly view: ViewName;
  /** Id of the segment, experience, group or stream that the page is about. */
  readonly id: string | undefined;
  /** Names of series, `<dimension>.<dimension_id>.<dimension_type>`. */
  readonly series: readonly string[];
  /** Length of a window that ends now, such as `7d`. Ignored while `from` and `to` are set. */
  readonly range: Range;
  /** Custom window [from, to), Unix ms. Both are set or none. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Length of a bucket; undefined derives it from the window. */
  readonly interval: string | undefined;
  readonly aggregation: string | undefined;
  readonly smooth: boolean;
  /** Whether the window before is shown too. */
  readonly compare: boolean;
  /** Column of a list, with a leading `-` for descending order. */
  readonly sort: string | undefined;
  /** Search in a list. */
  readonly q: string | undefined;
  /** Cursors of the pages of a list before the one shown; not part of a link. */
  readonly cursors: readonly string[];
  /** Parts of the link that the page cannot show, one sentence each. */
  readonly problems: readonly string[];
}

export const ranges = ["24h", "7d", "4w", "13w", "52w", "1mo", "3mo", "12mo"] as const;
export type Range = (typeof ranges)[number];
export const intervals = ["1h", "2h", "4h", "6h", "12h", "1d", "2d", "1w", "1mo"] as const;
export const aggregations = Object.keys(aggregationTitles);

const DEFAULT_RANGE: Range = "7d";
/** A longer window has more buckets of a week than the service returns. */
const MAX_WINDOW_MS = 100 * 52 * 7 * DAY;
/** Views that were renamed. */
const renamed: ReadonlyMap<string, ViewName> = new Map([["erasure", "deletions"]]);
/** Pages that need an id, and the list that replaces them without one. */
const listOf: Partial<Record<ViewName, ViewName>> = {
  segment: "segments",
  experience: "experiences",
  group: "experiences",
  stream: "streams",
};
/** Columns by which the service sorts the list of a view. */
const sortsOf: Partial<Record<ViewName, readonly string[]>> = {
  segments: ["id", "name", "size", "change", "difference"],
  experiences: ["id", "name", "now", "change", "difference"],
  streams: ["id", "name", "last_message_at", "silence", "day", "now", "change", "difference"],
};
const listViews = Object.keys(sortsOf);
/** Views whose charts follow aggregation and smooth of the link. */
const chartViews = ["segment", "experience", "group", "stream", "explore"];
/** Views that use a part of the link; the others ignore it. */
const usersOf: Readonly<Record<string, readonly string[]>> = {
  series: ["explore"],
  interval: ["overview", ...chartViews],
  aggregation: chartViews,
  smooth: chartViews,
  sort: listViews,
  q: listViews,
};

/** Reads the query of a link. An unknown value becomes the default and a sentence in `problems`. */
export function readAddress(search: string): Address {
  const query = new URLSearchParams(search);
  const problems: string[] = [];
  const oneOf = <T extends string>(name: string, allowed: readonly T[]): T | undefined => {
    const value = query.get(name);
    if (value === null) return undefined;
    const known = allowed.find((one) => one === value);
    if (known === undefined) problems.push(`The link has an unknown ${name}, “${cut(value)}”: it was ignored.`);
    return known;
  };
  const flag = (name: string) => oneOf(name, ["true", "false"]) === "true";
  const viewName = query.get("view") ?? "overview";
  let view: ViewName = renamed.get(viewName) ?? oneOf("view", viewNames) ?? "overview";
  const id = query.get("id") ?? undefined;
  const list = listOf[view];
  if (list !== undefined && !id) {
    problems.push(`The link names no ${view}: the list is shown instead.`);
    view = list;
  }
  for (const [name, users] of Object.entries(usersOf)) {
    if (!query.has(name) || users.includes(view)) continue;
    problems.push(`The link has “${name}”, which this view does not use: it was ignored.`);
    query.delete(name);
  }
  const series = [...new Set(query.getAll("series"))].filter((name) => {
    const isName = seriesNamed(name) !== undefined;
    if (!isName)
      problems.push(`The link has a series without dimension, id and type, “${cut(name)}”: it was left out.`);
    return isName;
  });
  const range = oneOf("range", ranges) ?? DEFAULT_RANGE;
  const [from, to] = customWindow(query, problems);
  const interval = oneOf("interval", intervals);
  const aggregation = oneOf("aggregation", aggregations);
  const sort = oneOf(
    "sort",
    (sortsOf[view] ?? []).flatMap((column) => [column, `-${column}`]),
  );
  return {
    view,
    id: list === undefined ? undefined : id,
    series,
    range,
    from,
    to,
    interval,
    aggregation,
    smooth: flag("smooth"),
    compare: flag("compare"),
    sort,
    q: query.get("q") || undefined,
    cursors: [],
    problems,
  };
}

function customWindow(query: URLSearchParams, problems: string[]): [number, number] | [undefined, undefined] {
  const texts = [query.get("from"), query.get("to")] as const;
  if (texts[0] === null && texts[1] === null) return [undefined, undefined];
  const [from, to] = texts.map((text) => instantOf(text ?? ""));
  if (from !== undefined && to !== undefined && from < to && to - from <= MAX_WINDOW_MS) return [from, to];
  problems.push("The link has no window that begins before it ends: its range is shown instead.");
  return [undefined, undefined];
}

/** Reads a day, or an RFC 3339 time whose seconds and zone may be absent. Without a zone it is UTC. */
function instantOf(text: string): number {
  const [all, time, zone] =
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? [];
  if (all === undefined || !isDay(all.slice(0, 10))) return Number.NaN;
  return Date.parse(time !== undefined && zone === undefined ? `${all}Z` : all);
}

/** Whether the calendar has a day such as `2026-09-30`. `Date` reads 31 September as 1 October. */
export const isDay = (day: string): boolean => new Date(`${day}T00:00Z`).getUTCDate() === Number(day.slice(8));

const cut = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** The query of a link to this state; parts with their default value are left out. */
export function addressText(address: Address): string {
  const query = new URLSearchParams({ view: address.view });
  if (address.id !== undefined) query.set("id", address.id);
  for (const name of address.series) query.append("series", name);
  if (address.from !== undefined && address.to !== undefined) {
    query.set("from", new Date(address.from).toISOString());
    query.set("to", new Date(address.to).toISOString());
  } else query.set("range", address.range);
  for (const name of ["interval", "aggregation", "sort", "q"] as const) {
    const value = address[name];
    if (value !== undefined && value !== "") query.set(name, value);
  }
  for (const name of ["smooth", "compare"] as const) if (address[name]) query.set(name, "true");
  return `?${query}`;
}

/**
 * Returns the state after a change of the page. A new view resets id, series, sort, search and display, and any change
 * returns a list to its first page.
 */
export function nextAddress(address: Address, change: Partial<Address>): Address {
  const isOther = change.view !== undefined && change.view !== address.view;
  const own = isOther
    ? {
        id: undefined,
        series: [],
        sort: undefined,
        q: undefined,
        interval: undefined,
        aggregation: undefined,
        smooth: false,
      }
    : {};
  return { ...address, ...own, cursors: [], problems: [], ...change };
}

/** A series by its parts. The id may contain dots. */
export interface SeriesName {
  readonly dimension: string;
  readonly dimension_id: string;
  readonly dimension_type: string;
}

/** Splits `<dimension>.<dimension_id>.<dimension_type>`; undefined for any other text. */
export function seriesNamed(name: string): SeriesName | undefined {
  const [, dimension, dimension_id, dimension_type] = /^([^.]+)\.(.+)\.([^.]+)$/s.exec(name) ?? [];
  if (dimension === undefined || dimension_id === undefined || dimension_type === undefined) return undefined;
  return { dimension, dimension_id, dimension_type };
}

export function nameOf({ dimension, dimension_id, dimension_type }: SeriesName): string {
  return `${dimension}.${dimension_id}.${dimension_type}`;
}
