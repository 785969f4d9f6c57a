import { Type } from "@sinclair/typebox";
import { invalid } from "../../errors.js";
import { rangePattern, rangeRule } from "../../formats/duration.js";
import { instantForms, timeText } from "../../formats/instant.js";
import type { RequestedWindow } from "../../metrics/query/time-window.js";
import { isRequested, type Trend } from "../../metrics/query/trend-window.js";
import { orNull, Time } from "../core/responses.js";
import { type Entry, type ListRequest, type ListSource, listPage, type SortKeys } from "./list-page.js";

const instant = (description: string) => Type.Optional(Type.String({ maxLength: 64, description }));

/** Query parameters for one row, and for the window of a row's `now` and `before`. */
export const windowQuery = {
  id: Type.Optional(
    Type.String({
      maxLength: 256,
      description: "Only the entry with this id. `q`, `sort` and `after` have no effect.",
    }),
  ),
  range: Type.Optional(
    Type.String({
      pattern: `^${rangePattern}$`,
      description:
        "Each row also has `now` and `before`, the value one range earlier: `<n><unit>`, a unit of m, h, d, w, mo or y (in UTC).",
      issue: { code: "invalid_range", message: `range must be ${rangeRule}` },
    }),
  ),
  startdate: instant(
    `Start of a window that replaces \`range\`, as in \`/api/metric\`: an ${instantForms}, now, or \`now-<n><unit>\`. Default with \`enddate\`: 2 days before it.`,
  ),
  enddate: instant("End of the window, exclusive, in the form of `startdate`. Default with `startdate`: now."),
};

/** Sorts by the values of a row in the window. */
export const trendSorts = ["now", "change", "movement", "difference", "distance"] as const;

/** Their description. */
export const trendSortsText =
  "With a window: by `now`, rows without it last; by `change`, the relative change from `before` to `now`, rows without both last; by `movement`, the size of the change without its sign, also rows without change last; by `difference`, `now` less `before`; or by `distance`, the size of the difference without its sign. From 0 a change is infinite.";

/** A value of a row with a window; null when none is saved. */
export function rowValue(description: string) {
  return Type.Optional(orNull(Type.Number({ description })));
}

/** The time of `before` in a row whose series begins after the start of its window. */
export const rowSince = Type.Optional(
  Time("The time of `before` if the series begins after the start of the window. Only with `startdate`."),
);

/** Source of a list whose rows also have values that change. */
interface TrendSource<T extends Entry, R extends object> extends ListSource<T> {
  /** Returns the entry with this id. */
  find(id: string): Promise<T | undefined>;
  /** Sort keys; by the trends when absent. */
  readonly keys?: ListSource<T>["keys"];
  /** Returns the values of each entry in the window; without one only `now`. */
  trends(entries: readonly Pick<T, "id">[], requested: RequestedWindow): Promise<readonly Trend[]>;
  rows(entries: readonly T[]): Promise<readonly R[]>;
  /** Returns figures of all matching entries, for `meta` of a list that is sorted by a figure. */
  summary?(entries: readonly T[]): Promise<object>;
}

interface TrendRequest extends ListRequest {
  readonly id?: string;
  readonly range?: string;
  readonly startdate?: string;
  readonly enddate?: string;
}

/** Returns a page of rows as `listPage` does, with a window each with its `now` and `before`. */
export async function trendPage<T extends Entry, R extends object>(
  { id, range, startdate: start, enddate: end, ...request }: TrendRequest,
  { trends, rows, summary, ...source }: TrendSource<T, R>,
) {
  const { sort } = request;
  const requested = { range, start, end };
  if (isTrendSort(sort) && !isRequested(requested)) {
    throw invalid("range_required", "range", `sort=${sort} needs a range, or startdate and enddate`);
  }
  let figures = {};
  const keys = async (entries: readonly T[]) => {
    figures = (await summary?.(entries)) ?? {};
    return source.keys === undefined ? sortKeys(sort, await trends(entries, requested)) : source.keys(entries);
  };
  const page =
    id === undefined
      ? await listPage(request, { ...source, keys: sort === "name" ? undefined : keys })
      : await onlyEntry(id, source);
  const { items } = page;
  const meta = { ...page.meta, ...figures };
  const data: readonly (R & RowValues)[] = await rows(items);
  if (!isRequested(requested)) return { data: [...data], meta };
  const values = await trends(items, requested);
  return { data: data.map((row, i) => ({ ...row, ...rowValues(values[i] as Trend) })), meta };
}

/** Returns the entry with this id as a list of at most one. */
async function onlyEntry<T extends Entry>(id: string, { find }: Pick<TrendSource<T, object>, "find">) {
  const entry = await find(id);
  const items = entry === undefined ? [] : [entry];
  return { items, meta: { next: null, total: items.length } };
}

/** Returns whether the order depends on the window. */
export function isTrendSort(sort: string): boolean {
  return trendSorts.some((known) => known === sort);
}

/** Returns the sort keys of rows: see `trendSortsText`; `now` with any other sort. */
function sortKeys(sort: string, trends: readonly Trend[]): SortKeys {
  if (sort === "now" || !isTrendSort(sort)) return trends.map(({ now }) => now);
  const isAbsolute = sort === "difference" || sort === "distance";
  const changes = trends.map(isAbsolute ? differenceOf : changeOf);
  if (sort === "change" || sort === "difference") return changes;
  return changes.map((change) => (change === undefined || change === 0 ? undefined : Math.abs(change)));
}

/** Returns the relative change; infinite from 0 to another value. */
function changeOf(trend: Trend): number | undefined {
  const difference = differenceOf(trend);
  return difference === undefined || difference === 0 ? difference : difference / Math.abs(trend.before as number);
}

/** Returns the absolute change. */
function differenceOf({ now, before, compared = now ?? null }: Trend): number | undefined {
  return compared === null || before === undefined ? undefined : compared - before;
}

interface RowValues {
  readonly now?: number | null;
  readonly before?: number | null;
  readonly compared?: number | null;
  readonly since?: string;
}

/** Returns the values of a row in its window. */
function rowValues({ now, before, compared, since }: Trend): RowValues {
  return {
    now: now ?? null,
    before: before ?? null,
    ...(compared === undefined ? {} : { compared }),
    ...(since === undefined ? {} : { since: timeText(since) }),
  };
}
