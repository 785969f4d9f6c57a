import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { invalid } from "../../errors.js";
import { intervalPattern, intervalRule } from "../../formats/duration.js";
import { timeText } from "../../formats/instant.js";
import { type Dimension, dimensionNamed, dimensionNames, dimensions } from "../../metrics/dimensions.js";
import type { ListedStream, StreamActivity, StreamList } from "../../metrics/list-streams.js";
import { countSeries, type ListedSeries as FoundSeries, listSeries } from "../../metrics/listings.js";
import type { SeriesStore } from "../../metrics/ports.js";
import type { NewestData } from "../../metrics/stream-silence.js";
import { searchText } from "../../text.js";
import { fetchPage, oneOf, success, Time, TimeOrNull } from "../core/responses.js";
import { type Route, route, type SchemaIssue } from "../core/route.js";
import { idPage, ListMeta, searchQuery } from "../lists/list-page.js";
import { isTrendSort, rowValue, trendPage, trendSorts, trendSortsText, windowQuery } from "../lists/trend-page.js";
import { aliasText, computedText } from "./dimension-texts.js";
import { type UncataloguedDependencies, uncataloguedSeries } from "./uncatalogued-series.js";

export const Stream = Type.Object(
  {
    stream: Type.String(),
    last_message_at: TimeOrNull("When the newest message arrived; null for a stream that has only points."),
    newest_at: TimeOrNull(
      "When the newest message arrived, or the end of the newest hour with a point after it; null if there is neither in the last 52 weeks.",
    ),
    silent: Type.Boolean({
      description:
        "Whether nothing has arrived for 2 hours and for longer than the longest pause of the last 4 weeks, which is counted in whole hours.",
    }),
    slot: Type.Object(
      {
        ts: Type.String({ description: "Start of the current slot, Unix ms." }),
        count: Type.Number({
          description:
            "The value that a client wrote for this slot, as `/api/metric` returns it; without one, the messages counted in it so far.",
        }),
      },
      { title: "OpenSlot", additionalProperties: false },
    ),
    day: Type.Number({ description: "Sum of its series over the last 24 complete slots; 0 if nothing is saved." }),
    now: rowValue(
      "Sum of its series over the window, or the last range of whole hours; 0 if nothing is saved. Only with a window.",
    ),
    before: rowValue(
      "The same of the window of the same length before it, or of as many whole intervals as the window has complete ones. Only with a window.",
    ),
    compared: rowValue(
      "The part of `now` that a change compares with `before`: the complete intervals, or all; if the series begins within the window before, only the hours, or whole intervals, that both windows have; null if they have none. Only with a window.",
    ),
    since: Type.Optional(
      Time("The first compared hour or interval if the series begins within the window before. Only with a window."),
    ),
  },
  { title: "Stream", additionalProperties: false },
);

export const StreamListMeta = Type.Object(
  {
    ...ListMeta.properties,
    silent: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "How many of the matching streams are silent. Only with another `sort` than `id` or `name`.",
      }),
    ),
  },
  { title: "StreamListMeta" },
);

/** Added to the sort key of silent streams, so that they follow all others, ms. */
const SILENT_MS = 1e15;

const badDimension: SchemaIssue = {
  code: "unknown_dimension",
  message: `dimension must be one of ${dimensionNames.join(", ")}`,
};

const seriesListQuery = {
  dimension: Type.Optional(
    oneOf(dimensionNames, {
      description: `Only series of this dimension; ${aliasText}.`,
      issue: badDimension,
    }),
  ),
  prefix: Type.String({ default: "", description: "Prefix of the ids; case-sensitive." }),
  catalogue: Type.Boolean({
    default: true,
    description:
      "`false`: only series whose segment or experience is not in the catalogue, so that only its points are known; needs `dimension`.",
  }),
  ...searchQuery([], "`id` and `name` both sort by dimension and id: the name of a series is its id."),
};

export const ListedSeries = Type.Object(
  {
    dimension: oneOf(dimensions.map(({ name }) => name)),
    dimension_id: Type.String(),
    dimension_types: Type.Array(Type.String(), {
      description: `Stored types with at least one point; computed ones (${computedText}) are not listed.`,
    }),
  },
  { title: "ListedSeries", additionalProperties: false },
);

export interface ListingDependencies {
  readonly series: Pick<SeriesStore, "list" | "count">;
  readonly streams: StreamList;
  readonly catalogue: UncataloguedDependencies["catalogue"];
  readonly clock: Clock;
}

/** Routes that list series and streams. */
export function listingRoutes({ series, streams, catalogue, clock }: ListingDependencies): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/series",
      scopes: ["metric:read"],
      docs: {
        id: "listSeries",
        tag: "metrics",
        summary: "List series",
        description:
          "Use it to find series to fetch: lists every series with at least one point, by dimension and id. With InfluxDB, series written by another process appear within 10 s. Errors 400: `unknown_dimension`, `invalid_flag`, `too_many_entries`, `invalid_after`, `invalid_limit`, `invalid_q`.",
      },
      query: seriesListQuery,
      responses: { 200: success("SeriesListAnswer", Type.Array(ListedSeries), { meta: ListMeta }) },
      async handler({ query: { dimension, prefix, q = "", order, catalogue: isAll, ...page } }) {
        const wanted = dimension === undefined ? undefined : dimensionNamed(dimension);
        const among = { dimension: wanted, prefix, contains: searchText(q) };
        const after = page.after === undefined ? undefined : readPlace(page.after);
        if (!isAll) {
          const missing = await uncataloguedSeries(among, { series, catalogue });
          const { items, meta } = await idPage([missing.map(placed)], {
            limit: page.limit,
            order,
            ...(after && { after: placeText(after) }),
          });
          return { data: items.map(toWire), meta };
        }
        const { items, meta } = await fetchPage(page, async (_, limit) => {
          const listed = await listSeries(series, { ...among, after, limit, descending: order === "desc" });
          return listed.map(placed);
        });
        return { data: items.map(toWire), meta: { ...meta, total: await countSeries(series, among) } };
      },
    }),
    route({
      method: "GET",
      path: "/api/stream",
      scopes: ["metric:read"],
      docs: {
        id: "listStreams",
        tag: "metrics",
        summary: "List streams",
        description:
          "Use it to check whether messages arrive: lists the streams that have messages or points. Each message is counted at once in the slot of its event time. `day`, `now` and `before` are sums of the series `stream.<id>.size` as `/api/metric` returns it, so the messages of an hour are added within a minute after it. Errors 400: `invalid_range`, `invalid_date`, `range_with_date`, `end_before_start`, `range_required`, `invalid_interval`, `unknown_timezone`, `too_many_buckets`, `unknown_sort`, `too_many_entries`; with another `sort` than `id` also `invalid_after`.",
      },
      query: {
        ...searchQuery(
          ["last_message_at", "day", "silence", ...trendSorts],
          `By \`last_message_at\`, streams without messages last, by \`day\`, or by \`silence\`, the time since \`newest_at\`, with \`order=desc\` silent streams first. ${trendSortsText}`,
        ),
        ...windowQuery,
        interval: Type.Optional(
          Type.String({
            pattern: `^${intervalPattern}$`,
            description:
              "Length of an interval, as in `/api/metric`. With it, the window begins with a whole interval, and a change compares its complete intervals with as many before it.",
            issue: { code: "invalid_interval", message: `interval must be ${intervalRule}` },
          }),
        ),
        timezone: Type.Optional(
          Type.String({
            minLength: 1,
            description: "Time zone of `interval`, and then of the dates, as in `/api/metric`.",
          }),
        ),
      },
      responses: { 200: success("StreamsAnswer", Type.Array(Stream), { meta: StreamListMeta }) },
      async handler({ query }) {
        const { sort, interval, timezone } = query;
        const now = clock();
        const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);
        const keysOf = async (some: readonly ListedStream[]) => {
          if (sort === "day") return streams.days(idsOf(some), now);
          if (sort !== "silence") return some.map(({ lastArrival }) => lastArrival);
          const newest = await streams.newest(some, now);
          return newest.map(({ at = 0, isSilent }) => (isSilent ? SILENT_MS : 0) + now - at);
        };
        return trendPage(query, {
          page: streams.page,
          count: streams.count,
          find: streams.find,
          keys: isTrendSort(sort) ? undefined : keysOf,
          trends: (some, requested) => streams.trends(idsOf(some), { ...requested, interval, timezone }, now),
          async rows(some) {
            const [activity, newest] = await Promise.all([
              streams.activity(idsOf(some), now),
              streams.newest(some, now),
            ]);
            return some.map(({ id, lastArrival }, i) => {
              const { slot, day } = activity[i] as StreamActivity;
              const { at, isSilent } = newest[i] as NewestData;
              return {
                stream: id,
                last_message_at: timeOrNull(lastArrival),
                newest_at: timeOrNull(at),
                silent: isSilent,
                slot: { ts: String(slot.ts), count: slot.count },
                day,
              };
            });
          },
          summary: async (some) => ({
            silent: (await streams.newest(some, now)).filter(({ isSilent }) => isSilent).length,
          }),
        });
      },
    }),
  ];
}

function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : timeText(ms);
}

/** Adds the position in `meta.next`, as the id of an entry: a dimension, a dot, an id. */
function placed(series: FoundSeries) {
  return { series, id: placeText(series) };
}

function placeText({ dimension, id }: Pick<FoundSeries, "dimension" | "id">): string {
  return `${dimension.name}.${id}`;
}

function toWire({ series: { dimension, id, types } }: ReturnType<typeof placed>) {
  return { dimension: dimension.name, dimension_id: id, dimension_types: [...types] };
}

/** Parses the position in `meta.next`. */
function readPlace(text: string): { dimension: Dimension; id: string } {
  const dot = text.indexOf(".");
  const dimension = dimensionNamed(text.slice(0, Math.max(0, dot)));
  if (dimension === undefined)
    throw invalid("invalid_after", "after", "after must be the meta.next of a previous page");
  return { dimension, id: text.slice(dot + 1) };
}
