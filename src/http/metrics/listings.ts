import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { invalid } from "../../errors.js";
import { type Dimension, dimensionNamed, dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { listSeries, listStreams } from "../../metrics/listings.js";
import type { SeriesStore, SlotCounts } from "../../metrics/ports.js";
import { fetchPage, listQuery, oneOf, PageMeta, success, Time, timeText } from "../responses.js";
import { type Route, route, type SchemaIssue } from "../route.js";

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const Stream = Type.Object(
  {
    stream: Type.String(),
    last_message_at: Time("When the newest message arrived."),
    slot: Type.Object(
      {
        ts: Type.String({ description: "Start of the slot that is open, Unix ms." }),
        count: Count("Messages counted in it so far."),
      },
      { title: "OpenSlot", additionalProperties: false },
    ),
    day: Count("Messages of the last 24 slots that are over."),
  },
  { title: "Stream", additionalProperties: false },
);

const badDimension: SchemaIssue = {
  code: "unknown_dimension",
  message: `dimension is one of ${dimensionNames.join(", ")}`,
};

const seriesListQuery = {
  dimension: Type.Optional(
    oneOf(dimensionNames, {
      description: "This one alone; segsize is another name of segment.",
      issue: badDimension,
    }),
  ),
  prefix: Type.String({ default: "", description: "What ids begin with; case counts." }),
  ...listQuery,
};

export const ListedSeries = Type.Object(
  {
    dimension: oneOf(dimensions.map(({ name }) => name)),
    dimension_id: Type.String(),
    dimension_types: Type.Array(Type.String(), {
      description:
        "The stored types that have a point. conversionrate is computed from two of them, and is not listed.",
    }),
  },
  { title: "ListedSeries", additionalProperties: false },
);

export interface ListingParts {
  readonly series: Pick<SeriesStore, "list">;
  readonly counts: Pick<SlotCounts, "streams" | "counted">;
  readonly clock: Clock;
}

/** What there is to be read. */
export function listingRoutes({ series, counts, clock }: ListingParts): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/series",
      scopes: ["metric:read"],
      docs: {
        id: "listSeries",
        tag: "metrics",
        summary: "Series that have a point",
        description: "By dimension and id. On InfluxDB, what another process has just written shows within a minute.",
      },
      query: seriesListQuery,
      responses: { 200: success("SeriesListAnswer", Type.Array(ListedSeries), { meta: PageMeta }) },
      async handler({ query: { dimension, prefix, ...page } }) {
        const wanted = dimension === undefined ? undefined : dimensionNamed(dimension);
        const { items, meta } = await fetchPage(page, async (after, limit) => {
          const last = after === undefined ? undefined : readPlace(after);
          const found = await listSeries(series, { dimension: wanted, prefix, after: last, limit });
          return found.map((one) => ({ ...one, id: `${one.dimension.name}.${one.id}`, dimension_id: one.id }));
        });
        return {
          data: items.map(({ dimension: { name }, dimension_id, types }) => ({
            dimension: name,
            dimension_id,
            dimension_types: [...types],
          })),
          meta,
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
        summary: "Streams that took messages",
        description: "By name. What arrives is counted at once: in the slot of its event time.",
      },
      query: listQuery,
      responses: { 200: success("StreamsAnswer", Type.Array(Stream), { meta: PageMeta }) },
      async handler({ query }) {
        const now = clock();
        const { items, meta } = await fetchPage(query, async (after, limit) => {
          const streams = await listStreams(counts, now, after, limit);
          return streams.map((one) => ({ ...one, id: one.stream }));
        });
        return {
          data: items.map(({ stream, lastArrival, slot, day }) => ({
            stream,
            last_message_at: timeText(lastArrival),
            slot: { ts: String(slot.ts), count: slot.count },
            day,
          })),
          meta,
        };
      },
    }),
  ];
}

/** The place in the list that `meta.next` names: a dimension, a dot, an id. */
function readPlace(text: string): { dimension: Dimension; id: string } {
  const dot = text.indexOf(".");
  const dimension = dimensionNamed(text.slice(0, Math.max(0, dot)));
  if (dimension === undefined) throw invalid("bad_after", "after", "after is the meta.next of a page before");
  return { dimension, id: text.slice(dot + 1) };
}
