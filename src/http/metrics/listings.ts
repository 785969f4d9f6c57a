import { Type } from "@sinclair/typebox";
import { everyItem } from "../../async/every-item.js";
import type { ListOrders } from "../../catalogue/list-orders.js";
import type { Clock } from "../../clock.js";
import { invalid } from "../../errors.js";
import { timeText } from "../../formats/instant.js";
import { type Dimension, dimensionNamed, dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { countSeries, listSeries, streamActivity, streamTrends } from "../../metrics/listings.js";
import type { CountedStream, SeriesStore, SlotCounts } from "../../metrics/ports.js";
import { searchText } from "../../text.js";
import { ListMeta, rangeQuery, rowValue, searchQuery, trendPage } from "../core/list-page.js";
import { fetchPage, oneOf, success, Time } from "../core/responses.js";
import { type Route, route, type SchemaIssue } from "../core/route.js";

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const Stream = Type.Object(
  {
    stream: Type.String(),
    last_message_at: Time("When the newest message arrived."),
    slot: Type.Object(
      {
        ts: Type.String({ description: "Start of the current slot, Unix ms." }),
        count: Count("Messages counted in this slot so far."),
      },
      { title: "OpenSlot", additionalProperties: false },
    ),
    day: Count("Messages of the last 24 complete slots."),
    now: rowValue("Messages of the last range of whole hours. Only with `range`."),
    before: rowValue("Messages of the range before it. Only with `range`."),
  },
  { title: "Stream", additionalProperties: false },
);

const badDimension: SchemaIssue = {
  code: "unknown_dimension",
  message: `dimension must be one of ${dimensionNames.join(", ")}`,
};

const seriesListQuery = {
  dimension: Type.Optional(
    oneOf(dimensionNames, {
      description: "Only series of this dimension; `segsize` is an alias of `segment`.",
      issue: badDimension,
    }),
  ),
  prefix: Type.String({ default: "", description: "Prefix of the ids; case-sensitive." }),
  ...searchQuery([], "`id` and `name` both sort by dimension and id: the name of a series is its id."),
};

export const ListedSeries = Type.Object(
  {
    dimension: oneOf(dimensions.map(({ name }) => name)),
    dimension_id: Type.String(),
    dimension_types: Type.Array(Type.String(), {
      description:
        "Stored types with at least one point. `conversionrate` is computed from two of them and not listed.",
    }),
  },
  { title: "ListedSeries", additionalProperties: false },
);

export interface ListingDependencies {
  readonly series: Pick<SeriesStore, "list" | "count">;
  readonly counts: Pick<SlotCounts, "streams" | "counted" | "totals">;
  readonly orders: ListOrders;
  readonly clock: Clock;
}

/** Routes that list series and streams. */
export function listingRoutes({ series, counts, orders, clock }: ListingDependencies): readonly Route[] {
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
          "Use it to find series to fetch: lists every series with at least one point, by dimension and id. With InfluxDB, series written by another process appear within 10 s. Errors 400: `unknown_dimension`, `bad_after`, `bad_limit`, `bad_q`.",
      },
      query: seriesListQuery,
      responses: { 200: success("SeriesListAnswer", Type.Array(ListedSeries), { meta: ListMeta }) },
      async handler({ query: { dimension, prefix, q = "", order, ...page } }) {
        const wanted = dimension === undefined ? undefined : dimensionNamed(dimension);
        const among = { dimension: wanted, prefix, contains: searchText(q) };
        const { items, meta } = await fetchPage(page, async (after, limit) => {
          const last = after === undefined ? undefined : readPlace(after);
          const found = await listSeries(series, { ...among, after: last, limit, descending: order === "desc" });
          return found.map((one) => ({ ...one, id: `${one.dimension.name}.${one.id}`, dimension_id: one.id }));
        });
        return {
          data: items.map(({ dimension: { name }, dimension_id, types }) => ({
            dimension: name,
            dimension_id,
            dimension_types: [...types],
          })),
          meta: { ...meta, total: await countSeries(series, among) },
        };
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
          "Use it to check whether messages arrive. Each message is counted at once in the slot of its event time. With `range`, each row also has the number of messages in the last range of whole hours and in the range before it. Errors 400: `bad_range`, `range_required`, `unknown_sort`, `too_many_entries`; with another `sort` than `id` also `bad_after`.",
      },
      query: {
        ...searchQuery(
          ["last_message_at", "day", "change"],
          "By `last_message_at`, by `day`, or by `change`, the relative change from `before` to `now`.",
        ),
        ...rangeQuery,
      },
      responses: { 200: success("StreamsAnswer", Type.Array(Stream), { meta: ListMeta }) },
      async handler({ query }) {
        const { sort } = query;
        const now = clock();
        const all = async (after: string | undefined, limit: number) =>
          (await counts.streams(after, limit)).map((one) => ({ ...one, id: one.stream, name: one.stream }));
        const namesOf = (streams: readonly Named[]) => streams.map(({ stream }) => stream);
        const keysOf = async (streams: readonly Named[]) =>
          sort === "day"
            ? (await streamActivity(counts, streams, now)).map(({ day }) => day)
            : streams.map(({ lastArrival }) => lastArrival);
        return trendPage(query, {
          page: all,
          count: async () => (await everyItem(all, ({ id }) => id)).length,
          byIds: async (ids) => {
            const wanted = new Set(ids);
            const streams = await everyItem(all, ({ id }) => id);
            return new Map(streams.filter(({ id }) => wanted.has(id)).map((one) => [one.id, one]));
          },
          orders,
          keys: sort === "change" ? undefined : keysOf,
          trends: (streams, ms = 0) => streamTrends(counts, namesOf(streams), now, ms),
          rows: async (streams) =>
            (await streamActivity(counts, streams, now)).map(({ stream, lastArrival, slot, day }) => ({
              stream,
              last_message_at: timeText(lastArrival),
              slot: { ts: String(slot.ts), count: slot.count },
              day,
            })),
        });
      },
    }),
  ];
}

/** A stream as sorted in lists. */
type Named = CountedStream & { readonly id: string; readonly name: string };

/** Parses the position in `meta.next`: a dimension, a dot, an id. */
function readPlace(text: string): { dimension: Dimension; id: string } {
  const dot = text.indexOf(".");
  const dimension = dimensionNamed(text.slice(0, Math.max(0, dot)));
  if (dimension === undefined) throw invalid("bad_after", "after", "after must be the meta.next of a previous page");
  return { dimension, id: text.slice(dot + 1) };
}
